import type { CodeHost, HostRepository } from "../../code-hosts/code-host.ts";
import type { FollowSettings } from "../../domain/follow.ts";
import type { ConnectionRow } from "../../store/connections/connections.ts";
import type { FollowerRow } from "../../store/connections/polls.ts";
import type { Context } from "../context.ts";

/** A repository that is looked at. */
export interface Place {
  readonly context: Context;
  readonly connection: ConnectionRow;
  readonly host: CodeHost;
  readonly repository: HostRepository;
  /** For what is no reason to stop. */
  readonly problems: string[];
}

export const keyOf = ({ connection, repository }: Pick<Place, "connection" | "repository">) => ({
  connection: connection.id,
  repository: repository.id,
});

export const settingsOf = ({ settings }: Pick<FollowerRow, "settings">): FollowSettings =>
  JSON.parse(settings) as FollowSettings;
