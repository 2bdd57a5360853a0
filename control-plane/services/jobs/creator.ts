/** Who creates a job: a person, or a connection to a code host, for a commit. */
import type { Change, Follow } from "../../../protocol/follow.ts";
import type { ConnectionRow } from "../../store/connections/connections.ts";
import { person, type Actor } from "../audit/audit.ts";
import { nameOf, type UserCaller } from "../callers.ts";

export interface Creator {
  readonly space_id: string;
  /** What jobs and the audit log call the creator. */
  readonly name: string;
  /** Null: no person. */
  readonly user_id: string | null;
  readonly actor: Actor;
}

export const creatorOf = (user: UserCaller): Creator => ({
  space_id: user.space_id,
  name: nameOf(user),
  user_id: user.user_id,
  actor: person(user),
});

export function connectionCreator({
  id,
  owner_id,
  name,
}: Pick<ConnectionRow, "id" | "owner_id" | "name">): Creator {
  const called = `${name} (connection)`;
  const actor = { kind: "connection", id, name: called, origin: null } as const;
  return { space_id: owner_id, name: called, user_id: null, actor };
}

/** The commit that a job runs for a connection. */
export interface JobOrigin {
  readonly connection_id: string | null;
  readonly pull_request_id: string | null;
  /** The pull request whose merge made the commit. */
  readonly merged_request_id: string | null;
  readonly change: Change;
  /** Whether it is a PLAN of a head that is merged into its base. */
  readonly isPullRequest: boolean;
  /** Which values the job gets: for a pull request, those that its configuration gives to it. */
  readonly values: Follow["values"];
}
