/** One connection to a SQLite file: hot statements directly, the rest through Kysely. */
import Database from "better-sqlite3";
import {
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type CompiledQuery,
  type Dialect,
  type QueryResult,
} from "kysely";
import type { Queries } from "../db.ts";
import { bind, type Bindable, type CompiledStatement, type Statement } from "../statement.ts";
import type { Tables } from "../tables.ts";
import { driverOver } from "./kysely-driver.ts";

/** While a store is opened, another process that opens it too may hold its locks this long. */
const busyTimeoutMilliseconds = 5000;

/** Hot statements run directly, the rest through Kysely; every SQL text is prepared once. */
export class Connection implements Queries {
  readonly database: Database.Database;
  writes = 0;
  readonly sql: Kysely<Tables>;
  readonly #hot = new Map<Statement<never, unknown>, Hot>();
  readonly #prepared = new Map<string, Database.Statement>();

  constructor(file: string, options: Database.Options) {
    this.database = new Database(file, { ...options, timeout: busyTimeoutMilliseconds });
    this.database.pragma("foreign_keys = ON");
    this.sql = new Kysely<Tables>({ dialect: dialectOver(this) });
  }

  async first<P extends Record<string, Bindable>, R>(
    statement: Statement<P, R>,
    params: NoInfer<P>,
  ): Promise<R | undefined> {
    this.beforeQuery();
    const { prepared, compiled } = this.#hotOf(statement);
    if (!prepared.readonly) this.writes += 1;
    return prepared.get(...bind(compiled, params)) as R | undefined;
  }

  async all<P extends Record<string, Bindable>, R>(
    statement: Statement<P, R>,
    params: NoInfer<P>,
  ): Promise<R[]> {
    this.beforeQuery();
    const { prepared, compiled } = this.#hotOf(statement);
    if (!prepared.readonly) this.writes += 1;
    return prepared.all(...bind(compiled, params)) as R[];
  }

  async run<P extends Record<string, Bindable>>(
    statement: Statement<P, never>,
    params: NoInfer<P>,
  ): Promise<void> {
    const { prepared, compiled } = this.#hotOf(statement);
    this.writes += 1;
    prepared.run(...bind(compiled, params));
  }

  /** Not as a prepared statement: that ends after the first page. */
  giveBack(pages: number): void {
    this.database.exec(`pragma incremental_vacuum(${pages})`);
    this.writes += 1;
  }

  /** What a reading connection does first. */
  beforeQuery(): void {}

  /** Runs a statement without parameters or rows, such as `commit`. */
  execute(sql: string): void {
    this.prepare(sql).run();
  }

  prepare(sql: string): Database.Statement {
    let prepared = this.#prepared.get(sql);
    if (prepared === undefined) {
      // Kysely makes a new text for each length of an `in` list: prepared statements need a bound.
      if (this.#prepared.size >= 500) this.#prepared.clear();
      prepared = this.database.prepare(sql);
      this.#prepared.set(sql, prepared);
    }
    return prepared;
  }

  #hotOf(statement: Statement<never, unknown>): Hot {
    let hot = this.#hot.get(statement);
    if (hot === undefined) {
      const compiled = statement.build(this.sql);
      hot = { compiled, prepared: this.database.prepare(planOnce(compiled.sql)) };
      this.#hot.set(statement, hot);
    }
    return hot;
  }
}

/** Another process's writes show at most this much later. */
const turnMilliseconds = 10;

/**
 * Reads that follow each other closely share one read transaction: taking and releasing the locks
 * of a read costs more than the read (3.2 µs alone, 1.1 µs inside; a row by its key). The store
 * ends it before every commit: the client then reads what it wrote, and the checkpoint that the
 * commit may start reaches the end of the write-ahead log. Otherwise that log would grow without end.
 */
export class TurnReader extends Connection {
  #isOpen = false;
  #end: NodeJS.Timeout | undefined;

  constructor(file: string) {
    super(file, { readonly: true });
  }

  override beforeQuery(): void {
    if (this.#isOpen) return;
    // It stays open where its end has failed.
    if (!this.database.inTransaction) this.execute("begin");
    this.#isOpen = true;
    this.#end = setTimeout(() => {
      try {
        this.endTurn();
      } catch {
        // A failing disk must not end the server: the next request meets the error.
      }
    }, turnMilliseconds);
  }

  /** From here on reads see what is committed now. */
  endTurn(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    clearTimeout(this.#end);
    // After an error SQLite may have ended it by itself.
    if (this.database.inTransaction) this.execute("commit");
  }
}

/**
 * SQLite (with STAT4, as better-sqlite3 builds it) may plan by a parameter's value, and then
 * compiles the statement anew whenever it is bound: a claim took 88 µs, without that 18. It does
 * not look behind a unary plus, which changes nothing else.
 */
const planOnce = (sql: string): string => sql.replaceAll("?", "+?");

interface Hot {
  readonly compiled: CompiledStatement;
  readonly prepared: Database.Statement;
}

/** Kysely over a connection that is already there. */
const dialectOver = (connection: Connection): Dialect => ({
  createAdapter: () => new SqliteAdapter(),
  createIntrospector: (db) => new SqliteIntrospector(db),
  createQueryCompiler: () => new SqliteQueryCompiler(),
  createDriver: () =>
    driverOver(async <R>(query: CompiledQuery): Promise<QueryResult<R>> => {
      connection.beforeQuery();
      const prepared = connection.prepare(query.sql);
      if (!prepared.readonly) connection.writes += 1;
      const parameters = query.parameters as Bindable[];
      if (prepared.reader) return { rows: prepared.all(...parameters) as R[] };
      const { changes } = prepared.run(...parameters);
      return { rows: [], numAffectedRows: BigInt(changes) };
    }),
});
