/** Queries on PostgreSQL: hot statements as named prepared ones, the rest through Kysely. */
import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type CompiledQuery,
  type Dialect,
  type QueryCompiler,
  type QueryResult,
} from "kysely";
import type pg from "pg";
import { second } from "../../../common/units.ts";
import type { Queries } from "../db.ts";
import { currentSpaces } from "../spaces.ts";
import { bind, type Bindable, type CompiledStatement, type Statement } from "../statement.ts";
import type { Tables } from "../tables.ts";
import { ScopedQuery, systemScope, type Scope } from "./postgres-scoped-query.ts";
import { decodeText, encodeText, postgresText } from "./postgres-text.ts";
import { driverOver } from "./kysely-driver.ts";
import { isOutdated } from "./postgres-locks.ts";
import { StorageError, type StorageTrouble } from "./storage-error.ts";

export type Runner = Pick<pg.Pool, "query"> | Pick<pg.ClientBase, "query">;

/** The role for queries on behalf of people; undefined: they run as all others do. */
export interface People {
  readonly role?: string | undefined;
}

export class PostgresQueries implements Queries {
  readonly sql: Kysely<Tables>;
  /** How many statements that can write have run. */
  writes = 0;
  /** Whether a statement failed: PostgreSQL then accepts nothing but a rollback. */
  hasFailed = false;
  readonly #runner: Runner;
  readonly #isPool: boolean;
  readonly #people: People;
  /** Whether a statement of this transaction has set a scope, which the next would inherit. */
  #hasSetScope = false;

  constructor(
    runner: Runner,
    { isPool = false, people = {} }: { readonly isPool?: boolean; readonly people?: People } = {},
  ) {
    this.#runner = runner;
    this.#isPool = isPool;
    this.#people = people;
    this.sql = new Kysely<Tables>({ dialect: dialectOver(this) });
  }

  async first<P extends Record<string, Bindable>, R>(
    statement: Statement<P, R>,
    params: NoInfer<P>,
  ): Promise<R | undefined> {
    return (await this.all(statement, params))[0];
  }

  async all<P extends Record<string, Bindable>, R>(
    statement: Statement<P, R>,
    params: NoInfer<P>,
  ): Promise<R[]> {
    const { name, compiled } = hotOf(statement);
    const values = bind(compiled, params);
    const query = { name: `${name}_${generation}`, text: compiled.sql, values };
    try {
      return (await this.query(query)).rows as R[];
    } catch (error) {
      if (!isOutdated(error)) throw error;
      if (query.name === `${name}_${generation}`) generation += 1;
      // A transaction has failed, and is run again as a whole.
      if (!this.#isPool) throw error;
      return (await this.query({ ...query, name: `${name}_${generation}` })).rows as R[];
    }
  }

  async run<P extends Record<string, Bindable>>(
    statement: Statement<P, never>,
    params: NoInfer<P>,
  ): Promise<void> {
    await this.all(statement, params);
  }

  async query(query: pg.QueryConfig): Promise<pg.QueryResult> {
    if (!/^\s*(select|with)\b/i.test(query.text)) this.writes += 1;
    const values = query.values?.map(encode);
    try {
      return await this.#send(values ? { ...query, values } : query);
    } catch (error) {
      this.hasFailed = true;
      throw storageErrorOf(error);
    }
  }

  reset(): void {
    this.hasFailed = false;
    this.#hasSetScope = false;
  }

  /** What runs for no person costs nothing more. */
  #send(query: pg.QueryConfig): Promise<pg.QueryResult> {
    const scope = this.#scope();
    if (scope === undefined) return this.#runner.query(query);
    this.#hasSetScope = !this.#isPool;
    // A prepared statement belongs to a role: PostgreSQL plans it anew whenever the role changes.
    const name = query.name && `${scope.role}_${query.name}`;
    return new Promise((resolve, reject) => {
      const settle = (error: Error | undefined, result: pg.QueryResult) =>
        error ? reject(error) : resolve(result);
      this.#runner.query(new ScopedQuery(name ? { ...query, name } : query, scope), settle);
    });
  }

  #scope(): Scope | undefined {
    const { role } = this.#people;
    const spaces = currentSpaces();
    if (role !== undefined && spaces !== undefined)
      return { role, spaces, isLimited: this.#isPool };
    return this.#hasSetScope ? systemScope : undefined;
  }
}

/** Beyond every time and count: a retention of "forever" asks for what is older than -Infinity. */
const extremes = { most: "9223372036854775807", least: "-9223372036854775808" } as const;

/**
 * Values as the driver sends them; it writes numbers as text. No column holds fractions, but a part
 * of a period, such as a retention of 0.7 days, may have one.
 */
function encode(value: unknown): unknown {
  if (typeof value === "string") return encodeText(value);
  if (value === Infinity) return extremes.most;
  if (value === -Infinity) return extremes.least;
  return typeof value === "number" ? Math.round(value) : value;
}

/** Object ids of types (pg_type). */
const types = { bool: 16, int8: 20, text: 25, numeric: 1700 } as const;

const parsers = new Map<number, (text: string) => unknown>([
  // Flags are 0 and 1, and times are numbers, as on SQLite; both fit into a double.
  [types.bool, (text) => (text === "t" ? 1 : 0)],
  [types.int8, Number],
  [types.numeric, Number],
  [types.text, decodeText],
]);
const integers = new Set([21, 23, 26]);

/** How the driver reads values: as SQLite's driver does. JSON stays text. */
const typeParsers: pg.CustomTypesConfig = {
  getTypeParser: ((id: number) =>
    parsers.get(id) ??
    (integers.has(id) ? Number : (text: string) => text)) as pg.CustomTypesConfig["getTypeParser"],
};

/** How long a connection, or a free one of the pool, is waited for. */
const connectMilliseconds = 10 * second;

/** A host that is gone is noticed on an idle connection after this time and ten probes. */
const keepAliveMilliseconds = 10 * second;

/**
 * So long PostgreSQL waits for a server that takes nothing of what it sends. Its own limits do not
 * end that wait, in which it holds the locks of the transaction; on a Unix socket nothing does.
 */
const untakenMilliseconds = 10 * second;
/** By default after two hours: until then a machine without power counts as a running server. */
const goneOptions = `-c tcp_keepalives_idle=${keepAliveMilliseconds / second} -c tcp_keepalives_interval=5`;

export const connectionOf = (url: string): pg.ClientConfig => ({
  connectionString: url,
  application_name: "windlass",
  types: typeParsers,
  keepAlive: true,
  keepAliveInitialDelayMillis: keepAliveMilliseconds,
  // Compiling a claim to machine code takes a hundred times as long as running it.
  options: `-c jit=off -c tcp_user_timeout=${untakenMilliseconds} ${goneOptions}`,
  connectionTimeoutMillis: connectMilliseconds,
});

/** A failover may lead to a standby, which has old data and would keep the connection. */
export async function requirePrimary(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ is_standby: number }>(
    "select pg_is_in_recovery() as is_standby",
  );
  if (rows[0]?.is_standby === 1)
    throw new StorageError("STORE_READONLY", new Error("the address leads to a standby"));
}

interface Hot {
  /** Each connection prepares it once under this name and the generation. */
  readonly name: string;
  readonly compiled: CompiledStatement;
}

/** Part of the names of prepared statements, so that all of them can be prepared again. */
let generation = 0;

const hot = new WeakMap<Statement<never, unknown>, Hot>();
let named = 0;

function hotOf(statement: Statement<never, unknown>): Hot {
  let found = hot.get(statement);
  if (found === undefined) {
    named += 1;
    found = { name: `hot_${named}`, compiled: statement.build(builder) };
    hot.set(statement, found);
  }
  return found;
}

class Compiler extends PostgresQueryCompiler {
  override compileQuery(...query: Parameters<QueryCompiler["compileQuery"]>): CompiledQuery {
    const compiled = super.compileQuery(...query);
    return { ...compiled, sql: postgresText(compiled.sql) };
  }
}

const dialect = {
  createAdapter: () => new PostgresAdapter(),
  createIntrospector: (db) => new PostgresIntrospector(db),
  createQueryCompiler: () => new Compiler(),
} as const satisfies Partial<Dialect>;

const builder = new Kysely<Tables>({
  dialect: { ...dialect, createDriver: () => new DummyDriver() },
});

const dialectOver = (queries: PostgresQueries): Dialect => ({
  ...dialect,
  createDriver: () =>
    driverOver(async <R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> => {
      const { rows, rowCount } = await queries.query({ text: sql, values: [...parameters] });
      return { rows: rows as R[], numAffectedRows: BigInt(rowCount ?? 0) };
    }),
});

/** Troubles by SQLSTATE, or by the code of the system's error. */
const troubles: readonly (readonly [codes: RegExp, trouble: StorageTrouble])[] = [
  // Lock timeout, statement timeout, serialisation failure, deadlock, too many connections.
  [/^(55P03|57014|40001|40P01|53300|53400)$/, "STORE_BUSY"],
  [/^(53100|53200)$/, "STORE_FULL"],
  // A standby, for example after a failover.
  [/^25006$/, "STORE_READONLY"],
  // Wrong password or user, no such database, no permission to connect.
  [/^(28...|3D000|42501)$/, "STORE_REFUSES"],
  [/^(08...|57P0.|25P0.|58...|XX...)$/, "STORE_UNREACHABLE"],
  [/^(E[A-Z]{3,}|ERR_SOCKET_.*|ERR_TLS_.*|.*CERT.*|UNABLE_TO_.*)$/, "STORE_UNREACHABLE"],
];

/** Messages of the driver, which have no code. The first is of a pool without a free connection. */
const driverMessages: readonly (readonly [messages: RegExp, trouble: StorageTrouble])[] = [
  [/^timeout exceeded when trying to connect/, "STORE_BUSY"],
  [
    /^(Connection terminated|Client has encountered a connection error|Query read timeout|Connection ended|The server does not support SSL)/,
    "STORE_UNREACHABLE",
  ],
];

/** Returns the error of a query as the rest of the server knows it. */
export function storageErrorOf(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof StorageError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  const found =
    code === undefined
      ? driverMessages.find(([messages]) => messages.test(message))
      : troubles.find(([codes]) => codes.test(code));
  return found ? new StorageError(found[1], error) : error;
}
