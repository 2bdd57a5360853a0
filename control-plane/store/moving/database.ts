/** The source or the target of a move of all rows from one database to another, of either engine. */

export type Value = string | number | null;
/** The values of a row, in the order of the columns that were asked for. */
export type MovedRow = readonly Value[];

export interface MovedTable {
  readonly name: string;
  /** Sorted by name. */
  readonly columns: readonly string[];
  readonly references: readonly string[];
}

export interface MoveDatabase {
  tables(): Promise<MovedTable[]>;
  count(table: string): Promise<number>;
  /** As of one moment, in bounded batches. No other method may be called meanwhile. */
  rows(table: Pick<MovedTable, "name" | "columns">): AsyncGenerator<MovedRow[]>;
  insert(table: Pick<MovedTable, "name" | "columns">, rows: readonly MovedRow[]): Promise<void>;
  empty(table: string): Promise<void>;
  /** Triggers do not fire: what they wrote at the source is moved too. */
  change(table: string, work: () => Promise<void>): Promise<void>;
  /** Returns the last number that the table has given to a row; undefined: it gives none. */
  lastNumber(table: string): Promise<number | undefined>;
  setLastNumber(table: string, number: number): Promise<void>;
  /** Lets the engine count what it plans queries by. */
  analyze(): Promise<void>;
  /** Ends the connection, and with it the lock on a shared database. */
  close(): Promise<void>;
}

/** A batch ends at the first of these bounds. */
export const batchRows = 500;
export const batchBytes = 4 * 1024 * 1024;

/** Returns about how much memory a row needs. */
export const sizeOf = (row: MovedRow): number =>
  row.reduce((sum: number, value) => sum + (typeof value === "string" ? value.length : 8), 0);
