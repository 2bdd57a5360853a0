/** A person's logins: where they are signed in, and ending that. */
import { Type, type Static } from "typebox";
import { endpoint } from "./endpoint.ts";
import { about, NextCursor, OneOf, Paging, Timestamp, Uuid } from "./fields.ts";

/** A browser session or a command line's login that works now. */
export const Login = Type.Object({
  id: Uuid,
  kind: OneOf(["session", "cli"]),
  current: about(Type.Boolean(), "Whether this very request came with it."),
  created_at: Timestamp,
  expires_at: Timestamp,
});
export type Login = Static<typeof Login>;

export const loginEndpoints = {
  listLogins: endpoint({
    method: "GET",
    path: "/api/cli/logins",
    summary: "List where one is signed in, newest first",
    caller: "client",
    query: Type.Object({ ...Paging }),
    status: 200,
    answer: Type.Object({ logins: Type.Array(Login), next_cursor: NextCursor }),
  }),
  revokeLogin: endpoint({
    method: "DELETE",
    path: "/api/cli/logins/{id}",
    summary: "End a login: its tokens are refused from now on",
    caller: "client",
    params: Type.Object({ id: about(Uuid, "The login.") }),
    status: 204,
  }),
};
