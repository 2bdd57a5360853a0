/**
 * The store's handle, the same for every engine: `read` sees what is committed, `write` runs a
 * function in a transaction.
 *
 * Rules for what runs inside `write` and `share`: it awaits nothing but its own queries (other
 * changes wait for it), it may be run again, and it throws to undo what it wrote.
 */
import type { Kysely } from "kysely";
import type { Bindable, Statement } from "./statement.ts";
import type { Tables } from "./tables.ts";

/** Where queries run: on committed data, or inside a transaction. */
export interface Queries {
  /** For queries that are not hot. */
  readonly sql: Kysely<Tables>;
  first<P extends Record<string, Bindable>, R>(
    statement: Statement<P, R>,
    params: NoInfer<P>,
  ): Promise<R | undefined>;
  all<P extends Record<string, Bindable>, R>(
    statement: Statement<P, R>,
    params: NoInfer<P>,
  ): Promise<R[]>;
  run<P extends Record<string, Bindable>>(
    statement: Statement<P, never>,
    params: NoInfer<P>,
  ): Promise<void>;
}

export interface ShareOptions {
  /**
   * The id of the row that the change locks first: changes of one moment with such an id share one
   * commit, in the order of their ids, and each stands or falls alone.
   */
  readonly row?: string;
  /** Whether it may wait some milliseconds for others, when many come, to share their commit. */
  readonly mayWait?: boolean;
}

export interface Store {
  /** Whether other processes may use the same store at the same time. */
  readonly isShared: boolean;
  /** Whether queries for certain spaces (spaces.ts) find nothing of others, whatever they ask. */
  readonly hidesOtherSpaces: boolean;
  readonly read: Queries;
  /**
   * Runs `change` in a transaction and resolves after the commit is on disk. Changes of one turn of
   * the event loop share one commit; each stands or falls alone.
   */
  write<T>(change: (tx: Queries) => Promise<T>): Promise<T>;
  /**
   * Runs a small, frequent change. Where several processes share the store it runs beside other
   * changes of this kind, so it must lock the rows by which it decides (`forUpdate`), and may touch
   * nothing else. No change of `write` runs meanwhile.
   */
  share<T>(change: (tx: Queries) => Promise<T>, options?: ShareOptions): Promise<T>;
  /**
   * Writes rows that no other change knows yet, or none any more: in a transaction of its own, beside
   * the order of changes where several processes share the store.
   */
  ahead<T>(change: (tx: Queries) => Promise<T>): Promise<T>;
  /** Gives some freed space back to the disk. Returns whether there is more. */
  shrink(): Promise<boolean>;
  /** Size of the write-ahead log, if it is a file beside the database. */
  walBytes(): number;
  /** Empties the write-ahead log if it is longer than it should be. */
  boundWal(): void;
  /** After this, writes are refused; resolves when those under way are committed. */
  close(): Promise<void>;
}
