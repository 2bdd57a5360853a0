/**
 * The PostgreSQL engine, for several control planes on one database.
 *
 * Services rely on changes that follow one another: they read, decide and write in one transaction.
 * On SQLite there is one writer. Here every transaction takes one advisory lock first: ordinary
 * changes take it alone, so each sees everything that was committed before it, by whichever
 * process; changes of `share`, which lock the rows that they touch, take it together.
 */
import pg from "pg";
import { second } from "../../../common/units.ts";
import type { Queries, ShareOptions, Store } from "../db.ts";
import { requireSchema, readSchema } from "../migrate.ts";
import { gapMilliseconds, GroupCommit, type Change } from "./group-commit.ts";
import {
  connectionOf,
  PostgresQueries,
  requirePrimary,
  storageErrorOf,
  type People,
} from "./postgres-connection.ts";
import { changesLock, isConflict, isDuplicate, isOutdated } from "./postgres-locks.ts";
import { findPeopleRole, prepareDatabase } from "./postgres-prepare.ts";
import { prepareScopes } from "./postgres-scoped-query.ts";
import { StorageError } from "./storage-error.ts";

export interface PostgresOptions {
  readonly url: string;
  readonly connections: number;
  /** The address with the role that owns and migrates the tables; undefined: that of `url`. */
  readonly ownerUrl?: string | undefined;
}

/** A process that stops while it holds a lock would stop all others. */
const limits = {
  statement_timeout: 30 * second,
  idle_in_transaction_session_timeout: 10 * second,
  // Longer than the pause, so that a server that waits for a stopped one gets the lock.
  lock_timeout: 15 * second,
  // After a failover, the host of a connection may be gone without a word.
  query_timeout: 35 * second,
} as const;

/** A connection that was not used for so long is closed. */
const idleMilliseconds = 60 * second;

/** Opens, and where needed creates and migrates, the tables of a database. */
export const openPostgres = (options: PostgresOptions): Promise<PostgresStore> =>
  open(options, (client) => prepareDatabase(client, options.ownerUrl));

/** Opens the database of running servers. Throws `SchemaError` instead of migrating it. */
export const openPostgresBeside = (options: PostgresOptions): Promise<PostgresStore> =>
  open(options, async (client) => requireSchema(await readSchema(new PostgresQueries(client).sql)));

async function open(
  options: PostgresOptions,
  prepare: (client: pg.ClientBase) => Promise<void>,
): Promise<PostgresStore> {
  let client: pg.Client | undefined;
  try {
    client = new pg.Client(connectionOf(options.url));
    // A broken connection fails its query.
    client.on("error", ignore);
    await client.connect();
    await requirePrimary(client);
    await prepare(client);
    await prepareScopes(client);
    return new PostgresStore(options, { role: await findPeopleRole(client) });
  } catch (error) {
    const known = storageErrorOf(error);
    if (!(known instanceof StorageError)) throw known;
    throw new Error(
      `the database of WINDLASS_DATABASE_URL cannot be opened: ${known.message}${adviceOn(error)}`,
      { cause: error },
    );
  } finally {
    await client?.end().catch(ignore);
  }
}

/** What to do about a certificate that is not accepted. */
const adviceOn = (error: unknown): string =>
  /CERT|UNABLE_TO_/.test((error as { code?: string }).code ?? "")
    ? '; check the host of the address, and that "sslrootcert=/path/ca.pem" in it names the authority of the database\'s certificate'
    : "";

export class PostgresStore implements Store {
  readonly isShared = true;
  readonly read: Queries;
  readonly #readers: pg.Pool;
  readonly #writers: pg.Pool;
  readonly #people: People;
  readonly #changes = new GroupCommit((changes) => this.#commitRound("", changes));
  /** Changes of `share` that name their row: always locked in the same order. */
  readonly #changesOfRows = new GroupCommit(
    (changes) => this.#commitRound("_shared", changes.toSorted(byRow)),
    { most: changesTogether, gapMilliseconds },
  );
  readonly #queries = new WeakMap<pg.PoolClient, PostgresQueries>();
  /** Changes of `share` and `ahead` under way. */
  readonly #shared = new Set<Promise<unknown>>();
  #closed = false;
  #closing: Promise<void> | undefined;

  constructor({ url, connections }: PostgresOptions, people: People) {
    this.#people = people;
    const pool = (max: number): pg.Pool => {
      const made = new pg.Pool({
        ...connectionOf(url),
        ...limits,
        max,
        idleTimeoutMillis: idleMilliseconds,
        onConnect: beginConnection,
      });
      // Idle connections are replaced; a broken query fails. Unheard, either ends the process.
      made.on("error", ignore);
      made.on("connect", (client) => void client.on("error", ignore));
      return made;
    };
    const writers = Math.ceil(connections / 2);
    this.#writers = pool(writers);
    this.#readers = pool(connections - writers);
    this.read = new PostgresQueries(this.#readers, { isPool: true, people: this.#people });
  }

  get hidesOtherSpaces(): boolean {
    return this.#people.role !== undefined;
  }

  write<T>(change: (tx: Queries) => Promise<T>): Promise<T> {
    return this.#changes.write(change);
  }

  async share<T>(change: (tx: Queries) => Promise<T>, options: ShareOptions = {}): Promise<T> {
    if (options.row !== undefined) return this.#changesOfRows.write(change, options);
    return this.#runApart(() => this.#runShared(change));
  }

  async #runApart<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new Error("the store is closed");
    const running = work();
    this.#shared.add(running);
    try {
      return await running;
    } finally {
      this.#shared.delete(running);
    }
  }

  ahead<T>(change: (tx: Queries) => Promise<T>): Promise<T> {
    return this.#runApart(() =>
      repeated(isConflict, () => this.#transaction("_ahead", (tx) => change(tx))),
    );
  }

  /** Sends a text of less than 8,000 bytes to every process that listens. */
  async notify(channel: string, payloads: readonly string[]): Promise<void> {
    await (this.read as PostgresQueries).query({
      text: "select pg_notify($1, payload) from unnest($2::text[]) as payload",
      values: [channel, payloads],
    });
  }

  /** PostgreSQL uses the space of deleted rows again by itself (autovacuum). */
  async shrink(): Promise<boolean> {
    return false;
  }

  walBytes(): number {
    return 0;
  }

  boundWal(): void {}

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    this.#closed = true;
    await Promise.all([this.#changes.close(), this.#changesOfRows.close()]);
    await Promise.allSettled(this.#shared);
    await Promise.all([this.#writers.end(), this.#readers.end()]);
  }

  /** Returns the round's own error. Then nothing happened, unless the commit's connection broke. */
  async #commitRound(mode: Mode, changes: readonly Change[]): Promise<unknown> {
    try {
      await repeated(isConflict, () =>
        this.#transaction(mode, async (tx, client) => {
          if (await tryAll(tx, changes)) return;
          await client.query("rollback");
          tx.hasFailed = false;
          await client.query(begin(mode));
          await runApart(tx, client, changes);
        }),
      );
      return undefined;
    } catch (error) {
      return error;
    }
  }

  /** Rows may be locked in another order by a change of another process: then it runs again. */
  #runShared<T>(change: (tx: Queries) => Promise<T>): Promise<T> {
    return repeated(
      (error) => isConflict(error) || isDuplicate(error) || isOutdated(error),
      () => this.#transaction("_shared", (tx) => change(tx)),
    );
  }

  async #transaction<T>(
    mode: Mode,
    work: (tx: PostgresQueries, client: pg.PoolClient) => Promise<T>,
  ): Promise<T> {
    let client: pg.PoolClient;
    try {
      client = await this.#writers.connect();
    } catch (error) {
      throw storageErrorOf(error);
    }
    try {
      await client.query(begin(mode));
      const queries = this.#queriesOf(client);
      const result = await work(queries, client);
      // PostgreSQL would end it without an error, and without its changes.
      if (queries.hasFailed) throw new Error("a statement of the transaction failed");
      await client.query("commit").catch(throwUncertain);
      client.release();
      return result;
    } catch (error) {
      const known = storageErrorOf(error);
      await endFailed(client, known);
      throw known;
    }
  }

  #queriesOf(client: pg.PoolClient): PostgresQueries {
    let queries = this.#queries.get(client);
    if (queries === undefined) {
      queries = new PostgresQueries(client, { people: this.#people });
      this.#queries.set(client, queries);
    }
    queries.reset();
    return queries;
  }
}

/** So many changes of rows at most share a transaction, which holds locks. */
const changesTogether = 64;

const byRow = (a: Change, b: Change): number => (a.row < b.row ? -1 : a.row > b.row ? 1 : 0);

const attempts = 5;

/** Runs a transaction again after errors that another run may not meet. */
async function repeated<T>(
  isPassing: (error: unknown) => boolean,
  transaction: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await transaction();
    } catch (error) {
      if (attempt === attempts || !isPassing(error)) throw error;
    }
  }
}

/** How a transaction takes the lock of changes: alone, with others, or not at all. */
type Mode = "" | "_shared" | "_ahead";

/** PostgreSQL would otherwise plan a claim at each execution, longer than running it. */
const planOnce: Record<Mode, string> = {
  "": "",
  _shared: "set local plan_cache_mode = force_generic_plan; ",
  _ahead: "",
};

const begin = (mode: Mode): string =>
  mode === "_ahead"
    ? "begin"
    : `begin; ${planOnce[mode]}select pg_advisory_xact_lock${mode}(${changesLock})`;

const ignore = (): void => undefined;

/** The pool awaits it, although its types do not say so. */
const beginConnection: (client: pg.ClientBase) => unknown = async (client) => {
  await requirePrimary(client);
  await prepareScopes(client);
};

/** The connection broke during a commit, which may have been carried out. */
function throwUncertain(error: unknown): never {
  const known = storageErrorOf(error);
  if (!(known instanceof StorageError) || known.code !== "STORE_UNREACHABLE") throw known;
  throw new StorageError(known.code, error as Error, { isUncertain: true });
}

/** Closes connections that are broken, that lead to a standby, or that cannot roll back. */
async function endFailed(client: pg.PoolClient, error: unknown): Promise<void> {
  const code = error instanceof StorageError ? error.code : undefined;
  if (code === "STORE_UNREACHABLE" || code === "STORE_READONLY") return client.release(true);
  try {
    await client.query("rollback");
    client.release();
  } catch {
    client.release(true);
  }
}

/** Without a savepoint for each. Returns false if one failed half way. */
async function tryAll(tx: PostgresQueries, changes: readonly Change[]): Promise<boolean> {
  for (const change of changes) {
    const isWhole = await change.run(tx);
    throwIfBroken(change);
    if (!isWhole) return false;
  }
  return true;
}

/** Each with a savepoint to go back to. */
async function runApart(
  tx: PostgresQueries,
  client: pg.PoolClient,
  changes: readonly Change[],
): Promise<void> {
  for (const change of changes) {
    await client.query("savepoint change");
    if (!(await change.run(tx))) {
      throwIfBroken(change);
      await client.query("rollback to savepoint change");
      tx.hasFailed = false;
    }
    await client.query("release savepoint change");
  }
}

/** What keeps the database from working fails the whole round. */
function throwIfBroken(change: Change): void {
  const error = change.error();
  if (error instanceof StorageError) throw error;
}
