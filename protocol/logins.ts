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
  listLogins: endpoint({
    method: "GET",
    path: "/api/cli/logins",
    summary: "List the user's logins, newest first",
    caller: "client",
    permission: "account",
    query: Type.Object({ ...Paging }),
    status: 200,
    answer: Type.Object({ logins: Type.Array(Login), next_cursor: NextCursor }),
  }),
  revokeLogin: endpoint({
    method: "DELETE",
    path: "/api/cli/logins/{id}",
    summary: "End a login; its tokens stop working",
    caller: "client",
    permission: "account",
    params: Type.Object({ id: about(Uuid, "The login.") }),
    status: 204,
  }),
};
