/** Reconnects by itself. Its shared lock shows a control plane whether it is alone. */
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { every } from "../../../common/every.ts";
import { second } from "../../../common/units.ts";
import { connectionOf, storageErrorOf } from "./postgres-connection.ts";

export interface ChannelEvents {
  received(payload: string): void;
  /** The connection was lost for a while, and with it what was sent meanwhile. */
  missed(): void;
}

/** The key of the advisory lock that running control planes share. */
export const presenceLock = 1_464_816_899;

/** Pauses between attempts to connect: doubled up to the longest. */
const shortestPause = 100;
const longestPause = 5 * second;
/** How often the connection is tried, because a network may drop it without a word. */
const checkMilliseconds = 10 * second;

export class PostgresChannel {
  readonly #url: string;
  readonly #name: string;
  readonly #stop = new AbortController();
  #events: ChannelEvents | undefined;
  #client: pg.Client;
  #following: Promise<void> | undefined;

  private constructor(url: string, name: string, client: pg.Client) {
    this.#url = url;
    this.#name = name;
    this.#client = client;
  }

  /** Connects. Throws if the database cannot be reached. */
  static async open(url: string, name: string): Promise<PostgresChannel> {
    try {
      return new PostgresChannel(url, name, await connect(url, name));
    } catch (error) {
      throw storageErrorOf(error);
    }
  }

  async isAlone(): Promise<boolean> {
    return (await countControlPlanes(this.#client)) === 1;
  }

  follow(events: ChannelEvents): void {
    this.#events = events;
    this.#following ??= this.#follow();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#following;
    await end(this.#client);
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await this.#untilBroken();
      if (signal.aborted) return;
      await end(this.#client);
      const client = await this.#reconnect();
      if (client === undefined) return;
      this.#client = client;
      this.#events?.missed();
    }
  }

  async #untilBroken(): Promise<void> {
    const { signal } = this.#stop;
    const broken = new AbortController();
    const breaks = () => broken.abort();
    this.#client.on("end", breaks).on("error", breaks);
    this.#client.on("notification", ({ payload }) => this.#events?.received(payload ?? ""));
    const over = AbortSignal.any([signal, broken.signal]);
    await every(checkMilliseconds, () => this.#client.query("select 1"), over, breaks);
  }

  async #reconnect(): Promise<pg.Client | undefined> {
    const { signal } = this.#stop;
    for (let wait = shortestPause; !signal.aborted; wait = Math.min(2 * wait, longestPause)) {
      try {
        return await connect(this.#url, this.#name);
      } catch {
        // Requests report what is wrong with the database.
      }
      await pause(wait, undefined, { signal }).catch(() => undefined);
    }
    return undefined;
  }
}

/** A database without control planes; none starts there until the release. */
export interface DatabaseHold {
  /** Throws if the connection that holds the lock has broken, so that a control plane may start. */
  check(): Promise<void>;
  release(): Promise<void>;
}

/** Takes a database from all control planes; undefined while one of them uses it. */
export async function holdDatabaseAlone(url: string): Promise<DatabaseHold | undefined> {
  const client = new pg.Client(connectionOf(url));
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ taken: number }>(
      `select pg_try_advisory_lock(${presenceLock}) as taken`,
    );
    if (rows[0]?.taken === 1)
      return {
        check: async () => void (await client.query("select 1").catch(throwStorageError)),
        release: () => end(client),
      };
    await end(client);
    return undefined;
  } catch (error) {
    await end(client);
    throw storageErrorOf(error);
  }
}

function throwStorageError(error: unknown): never {
  throw storageErrorOf(error);
}

/** Returns how many control planes run on the database of a connection. */
export async function countControlPlanes(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `select count(*) as count from pg_locks
      where locktype = 'advisory' and objsubid = 1 and classid = 0 and objid = ${presenceLock}
        and database = (select oid from pg_database where datname = current_database()) and granted`,
  );
  return rows[0]?.count ?? 0;
}

async function connect(url: string, name: string): Promise<pg.Client> {
  const client = new pg.Client({ ...connectionOf(url), query_timeout: checkMilliseconds });
  // What breaks the connection later is handled where it is used.
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.query(`listen ${pg.escapeIdentifier(name)}`);
    const { rows } = await client.query<{ taken: number }>(
      `select pg_try_advisory_lock_shared(${presenceLock}) as taken`,
    );
    if (rows[0]?.taken !== 1)
      throw new Error(
        "a rotate-key or migrate-store works on the database of WINDLASS_DATABASE_URL: wait until it has ended",
      );
    return client;
  } catch (error) {
    await end(client);
    throw error;
  }
}

const end = (client: pg.Client): Promise<void> => client.end().catch(() => undefined);
