import type { CodeHost, HostRepository } from "../../code-hosts/code-host.ts";
import type { ConnectionRow } from "../../store/connections/connections.ts";
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
