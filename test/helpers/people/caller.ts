/** A person as the services see them. */
import { wholeAccess } from "../../../control-plane/domain/roles.ts";
import type { Space, UserCaller } from "../../../control-plane/services/callers.ts";
import type { Owner } from "../plane/rows.ts";
import { origin } from "./sign-in.ts";

/** The personal space of a user. */
export const personalSpace = ({ id }: Pick<Owner, "id">): Space => ({
  space_id: id,
  slug: null,
  ...wholeAccess("admin"),
});

/** A user who acts in their personal space without a login: what they change checks none. */
export const callerOf = ({ id }: Pick<Owner, "id">): UserCaller => ({
  user_id: id,
  email: `${id}@example.com`,
  login_id: id,
  login_kind: "cli",
  space_id: id,
  role: "admin",
  spaces: [],
  origin,
});
