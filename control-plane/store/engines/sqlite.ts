/**
 * The SQLite engine: one writing connection with group commit, one reading connection (WAL: it sees
 * what is committed and never waits for the writer).
 *
 * `synchronous=FULL`: what is answered survives a power cut. That costs a disk flush per commit, so
 * all changes of one turn of the event loop share one: 7 to 12 times cheaper (docs/decisions.md,
 * "Group commit").
 */
import { chmodSync, closeSync, existsSync, openSync, statSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import Database from "better-sqlite3";
import type { Queries, ShareOptions, Store } from "../db.ts";
import { migrate, requireSchema, readSchema } from "../migrate.ts";
import { gapMilliseconds, GroupCommit, type Change } from "./group-commit.ts";
import { Connection, TurnReader } from "./sqlite-connection.ts";
import { mebibyte } from "../../../common/units.ts";

/**
 * Another process (a careless backup, or one that opens the file too) may hold the write lock this
 * long before changes are refused: with terraform's three tries to write a state that bridges more
 * than ten seconds.
 */
const lockedMilliseconds = 5000;
const lockedPauseMilliseconds = 10;

/**
 * After a checkpoint SQLite cuts the write-ahead log to this size. It starts one by itself when the
 * log has 1,000 pages (4 MiB), so the log is longer only while another process reads, or after one
 * very large change.
 */
const walLimitBytes = 8 * mebibyte;

/** Opens, and where needed creates and migrates, the database file. */
export function openSqlite(file: string): Promise<Store> {
  return open(file, {}, async (writer) => {
    // The log that a killed server left may fill the disk: empty it first, because what follows
    // writes.
    await untilUnlocked(() => writer.database.pragma("wal_checkpoint(TRUNCATE)"));
    // Before the first table: a file made without it never gives space back, it only uses it again.
    writer.database.pragma("auto_vacuum = INCREMENTAL");
    // May fail at once if another process makes the file, whatever the busy timeout.
    await untilUnlocked(() => writer.database.pragma("journal_mode = WAL"));
    // Migrations may change the text of the schema, which better-sqlite3 otherwise forbids.
    writer.database.unsafeMode(true);
    await migrate(writer.sql, {
      begin: () => writer.execute("begin immediate"),
      commit: () => writer.execute("commit"),
      rollback: () => writer.execute("rollback"),
    });
    writer.database.unsafeMode(false);
  });
}

/** The server may be running. Throws `SchemaError` instead of migrating. */
export function openBeside(file: string): Promise<Store> {
  return open(file, { fileMustExist: true }, async (writer) =>
    requireSchema(await readSchema(writer.sql)),
  );
}

async function open(
  file: string,
  options: Database.Options,
  prepare: (writer: Connection) => Promise<void>,
): Promise<Store> {
  let writer: Connection | undefined;
  try {
    if (options.fileMustExist !== true) makePrivate(file);
    writer = new Connection(file, options);
    writer.database.pragma("synchronous = FULL");
    writer.database.pragma(`journal_size_limit = ${walLimitBytes}`);
    await prepare(writer);
    // From here on a wait for a lock must not be SQLite's: it would stop every other request.
    writer.database.pragma("busy_timeout = 0");
    // A statement that triggers follow keeps the old pages until its end. More than 16 of them, as
    // a claim has, go to a temporary file by default: a claim then takes 77 µs instead of 26.
    writer.database.pragma("temp_store = MEMORY");
    return new SqliteStore(file, writer, new TurnReader(file));
  } catch (error) {
    writer?.database.close();
    if (error instanceof Database.SqliteError)
      throw new Error(`the database ${file} cannot be opened: ${error.message}`, { cause: error });
    throw error;
  }
}

/**
 * Gives the database and its logs mode 0600, because they hold secrets. Changes no directory that
 * the setting names by mistake: SQLite refuses it.
 */
function makePrivate(file: string): void {
  if (!existsSync(file)) closeSync(openSync(file, "a", 0o600));
  for (const path of [file, `${file}-wal`, `${file}-shm`]) {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat?.isFile() && (stat.mode & 0o077) !== 0) chmodSync(path, 0o600);
  }
}

/** Repeats what finds the file locked until it works, or has taken too long. */
async function untilUnlocked(work: () => void): Promise<void> {
  const deadline = performance.now() + lockedMilliseconds;
  for (;;) {
    try {
      return work();
    } catch (error) {
      const isLocked = (error as { code?: string }).code?.startsWith("SQLITE_BUSY");
      if (!isLocked || performance.now() > deadline) throw error;
    }
    await pause(lockedPauseMilliseconds);
  }
}

/** Two megabytes: moving their last pages takes a few milliseconds. */
const pagesPerShrink = 500;

class SqliteStore implements Store {
  /** A file belongs to one server. */
  readonly isShared = false;
  readonly hidesOtherSpaces = false;
  readonly read: Queries;
  readonly #file: string;
  readonly #writer: Connection;
  readonly #reader: TurnReader;
  readonly #changes = new GroupCommit((changes) => this.#commitRound(changes), {
    gapMilliseconds,
  });

  constructor(file: string, writer: Connection, reader: TurnReader) {
    this.#file = file;
    this.#writer = writer;
    this.#reader = reader;
    this.read = reader;
  }

  write<T>(change: (tx: Queries) => Promise<T>): Promise<T> {
    return this.#changes.write(change);
  }

  share<T>(change: (tx: Queries) => Promise<T>, options?: ShareOptions): Promise<T> {
    return this.#changes.write(change, options);
  }

  ahead<T>(change: (tx: Queries) => Promise<T>): Promise<T> {
    return this.#changes.write(change, { isAlone: true });
  }

  async shrink(): Promise<boolean> {
    if (this.#freePages() === 0) return false;
    await this.write(async () => this.#writer.giveBack(pagesPerShrink));
    return this.#freePages() > 0;
  }

  /** Returns 0 for a file that gives no space back. */
  #freePages(): number {
    const { database } = this.#writer;
    const isIncremental = database.pragma("auto_vacuum", { simple: true }) === 2;
    return isIncremental ? (database.pragma("freelist_count", { simple: true }) as number) : 0;
  }

  walBytes(): number {
    return statSync(`${this.#file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }

  boundWal(): void {
    // Inside a transaction SQLite refuses a checkpoint; the next round tries again.
    if (this.walBytes() > walLimitBytes && !this.#writer.database.inTransaction) this.#cutWal();
  }

  /** Moves all into the database and empties the log, unless another process reads it. */
  #cutWal(): void {
    this.#reader.endTurn();
    this.#writer.database.pragma("wal_checkpoint(TRUNCATE)");
  }

  async close(): Promise<void> {
    await this.#changes.close();
    this.#reader.endTurn();
    this.#reader.database.close();
    this.#writer.database.close();
  }

  /** A full disk or a database locked for too long: then nothing of this round happened. */
  async #commitRound(changes: readonly Change[]): Promise<unknown> {
    try {
      if (!(await this.#tryAll(changes))) await this.#commitApart(changes);
      return undefined;
    } catch (error) {
      if (this.#writer.database.inTransaction) this.#writer.execute("rollback");
      if ((error as { code?: string }).code === "SQLITE_FULL") this.#makeRoom();
      return error;
    }
  }

  /**
   * A log that fills the disk does not shrink: only a commit starts a checkpoint, and no commit
   * works. What the database already has room for leaves the log here, and the next commit writes
   * at its beginning.
   */
  #makeRoom(): void {
    try {
      this.#cutWal();
    } catch {
      // The database has to grow for it: an operator must make room. The caller gets the commit's
      // error.
    }
  }

  /**
   * Ends the reader's transaction first: as long as it looks at the log before this commit, no
   * checkpoint reaches the end of the log.
   */
  #commit(): void {
    this.#reader.endTurn();
    this.#writer.execute("commit");
  }

  /** Takes the write lock; meanwhile reads go on. */
  #begin(): Promise<void> {
    return untilUnlocked(() => this.#writer.execute("begin immediate"));
  }

  /** Savepoints cost as much as a heartbeat. False: one failed half way, all is undone. */
  async #tryAll(changes: readonly Change[]): Promise<boolean> {
    await this.#begin();
    for (const change of changes) {
      const isWhole = await change.run(this.#writer);
      // Some errors (a full disk) end the transaction by themselves: those fail the whole round.
      if (!this.#writer.database.inTransaction) throw change.error();
      if (isWhole) continue;
      this.#writer.execute("rollback");
      return false;
    }
    this.#commit();
    return true;
  }

  /** All of them again (a change may be run again), each with a savepoint to go back to. */
  async #commitApart(changes: readonly Change[]): Promise<void> {
    await this.#begin();
    for (const change of changes) {
      this.#writer.execute("savepoint change");
      if (!(await change.run(this.#writer))) this.#writer.execute("rollback to change");
      this.#writer.execute("release change");
    }
    this.#commit();
  }
}
