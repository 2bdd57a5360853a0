/** The logins of a user. */
import { Type, type Static } from "typebox";
import { endpoint } from "./endpoint.ts";
import { about, NextCursor, OneOf, Paging, Timestamp, Uuid } from "./fields.ts";

/** A valid login of a browser or a command line. */
export const Login = Type.Object({
  id: Uuid,
  kind: OneOf(["session", "cli"]),
  current: about(Type.Boolean(), "Whether this request used it."),
  created_at: Timestamp,
  expires_at: Timestamp,
});
export type Login = Static<typeof Login>;

export const loginEndpoints = {
  listLogins: endpoint("GET /api/cli/logins", {
    summary: "List the user's logins, newest first",
    permission: "account",
    query: Paging,
    answer: Type.Object({ logins: Type.Array(Login), next_cursor: NextCursor }),
  }),
  revokeLogin: endpoint("DELETE /api/cli/logins/{id}", {
    summary: "End a login; its tokens stop working",
    permission: "account",
    params: { id: about(Uuid, "The login.") },
  }),
};
