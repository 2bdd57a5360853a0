/** Queries for people: in another role than the rest, for certain spaces. */
import pg from "pg";
import {
  configurationsSetting,
  limitedSetting,
  spacesSetting,
  zonesSetting,
} from "../migrations/postgres/row-security.ts";
import type { SeenSpace } from "../spaces.ts";

/** Name of the prepared statement that every connection has. */
const setScope = "set_scope";

/** Prepares a new connection. Roles and spaces are set until the end of a transaction only. */
export const prepareScopes = async (client: pg.ClientBase): Promise<void> =>
  void (await client.query(`prepare ${setScope}(text, text, text, text, text) as
    select set_config('role', $1, true), set_config('${spacesSetting}', $2, true),
      set_config('${limitedSetting}', $3, true), set_config('${zonesSetting}', $4, true),
      set_config('${configurationsSetting}', $5, true)`));

export interface Scope {
  /** The role that the query runs in. */
  readonly role: string;
  /** Whose rows it sees, where row security applies to the role. */
  readonly spaces: readonly SeenSpace[];
  /** Whether of limited spaces only what is in their zones is seen. Changes see all: names are unique. */
  readonly isLimited?: boolean;
}

/** The role and rights with which the connection was made. */
export const systemScope: Scope = { role: "none", spaces: [] };

/** The part of the driver's connection that a query writes to; undeclared in its types. */
interface Connection {
  bind(portal: { statement: string; values: readonly string[] }): void;
  execute(portal: object): void;
}

/** What the driver calls for the messages of the server. */
interface Handlers {
  prepare(connection: Connection): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: unknown): void;
}

/** Declared as a configuration, because that is what the driver's types let `query` take. */
const Query = pg.Query as unknown as new (config: pg.QueryConfig) => pg.QueryConfig & Handlers;

/**
 * Sets the scope in front of its own statement, in the same round trip: until the `Sync` that ends
 * a query, PostgreSQL runs all its messages in one transaction. So outside of a longer transaction
 * the scope ends with the query, even if it fails, and no other query can run between them.
 */
export class ScopedQuery extends Query {
  readonly #scope: Scope;
  /** Whether what the server sends is about the scope, and not yet about the statement. */
  #isSetting = true;

  constructor(query: pg.QueryConfig, scope: Scope) {
    // Without values, too, the driver must use the extended protocol.
    super({ ...query, queryMode: "extended" } as pg.QueryConfig);
    this.#scope = scope;
  }

  override prepare(connection: Connection): void {
    const { role, spaces, isLimited = false } = this.#scope;
    const limited = isLimited ? spaces.filter(({ zones }) => zones !== undefined) : [];
    const zones = limited.flatMap((space) => space.zones ?? []).join();
    const configurations = limited.flatMap((space) => space.configurations ?? []).join();
    const values = [role, ids(spaces), ids(limited), zones, configurations];
    connection.bind({ statement: setScope, values });
    connection.execute({});
    super.prepare(connection);
  }

  override handleDataRow(message: unknown): void {
    if (!this.#isSetting) super.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, connection: unknown): void {
    if (this.#isSetting) this.#isSetting = false;
    else super.handleCommandComplete(message, connection);
  }
}

const ids = (list: readonly SeenSpace[]): string => list.map(({ id }) => id).join();
