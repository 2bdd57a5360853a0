/** A person as the services see them. */
import type { UserCaller } from "../../control-plane/services/callers.ts";
import type { Owner } from "./rows.ts";
import { origin } from "./sign-in.ts";

/** The client of a user, in the user's personal space. */
export const callerOf = ({ id }: Pick<Owner, "id">): UserCaller => ({
  user_id: id,
  email: `${id}@example.com`,
  login_id: id,
  login_kind: "cli",
  space_id: id,
  role: "admin",
  spaces: [{ space_id: id, slug: null, role: "admin" }],
  origin,
});
