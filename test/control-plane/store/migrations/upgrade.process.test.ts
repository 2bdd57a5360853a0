/** The upgrade of a store of the first release with one row of every kind. */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import Database from "better-sqlite3";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  compatibleSince,
  knownSchema,
  migrations,
} from "../../../../control-plane/store/migrate.ts";
import { up as first } from "../../../../control-plane/store/migrations/0001-start.ts";
import * as variableSets from "../../../../control-plane/store/migrations/0025-variable-sets.ts";
import { openSqlite } from "../../../../control-plane/store/engines/sqlite.ts";
import { Connection } from "../../../../control-plane/store/engines/sqlite-connection.ts";

interface Column {
  readonly name: string;
  readonly type: string;
}
type Rows = Record<string, Record<string, unknown>[]>;

const managed = '{"source":{"type":"archive","sha256":"1"},"backend":"managed"}';
const json: Record<string, string> = {
  labels: "[]",
  metadata: "{}",
  definition: managed,
  config_snapshot: '{"source":{"type":"archive","sha256":"1"}}',
};
/** Queued jobs, and what each needs of a worker. */
const queued: [
  id: string,
  labels: string,
  assigned: string | null,
  snapshot: string,
  wanted: string,
][] = [
  [
    "q-all",
    '["a"]',
    null,
    '{"submodules":true,"var_files":["x"],"backend_config":{"a":"b"}}',
    '["a","+backend_config","+submodules","+var_files"]',
  ],
  ["q-assigned", '["a"]', "1", '{"submodules":true}', '["+submodules"]'],
  [
    "q-none",
    '["a","b"]',
    null,
    '{"submodules":false,"var_files":[],"backend_config":{}}',
    '["a","b"]',
  ],
  ["q-plain", "[]", null, "{}", "[]"],
];
/** Ended jobs whose new fields are derived from their messages. */
const ended: [id: string, message: string, presumed_lost_at: number | null, unknown: 0 | 1][] = [
  ["e-lost", "runner lost, outcome unknown", 7, 1],
  ["e-restored", "outcome unknown: the server was restored from a backup of 2026-01-01", null, 1],
  ["e-failed", "plan failed: runner lost, outcome unknown", null, 0],
];
const shown = "SHOWN2";
let directory: string;
let file: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "upgrade-"));
  file = join(directory, "windlass.db");
  await fill();
});
afterAll(() => rm(directory, { recursive: true }));

const columnsOf = (database: Database.Database, table: string) =>
  database.pragma(`table_info(${table})`) as Column[];

const tablesOf = (database: Database.Database): string[] =>
  database
    .prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'")
    .pluck()
    .all() as string[];

/** Every id is "1", so every reference holds. */
function valueOf({ name, type }: Column): string | number {
  if (name === "verification_code") return shown;
  if (name === "used_at" || name === "worker_id") return 1;
  return type === "TEXT" ? (json[name] ?? "1") : 1;
}

async function fill(): Promise<void> {
  const connection = new Connection(file, {});
  await first(connection.sql as never);
  await sql`create table schema_version (version integer not null)`.execute(connection.sql);
  await sql`insert into schema_version (version) values (1)`.execute(connection.sql);
  const { database } = connection;
  for (const table of tablesOf(database).filter((name) => name !== "schema_version")) {
    const columns = columnsOf(database, table);
    database
      .prepare(`insert into ${table} values (${columns.map(() => "?").join()})`)
      .run(...columns.map(valueOf));
  }
  // In the first release every configuration was managed, with or without a state.
  database
    .prepare(
      `insert into specs select 'stateless', owner_id, zone_id, cloud_identity_id, 'a', 'a', labels, ?, status, error_message,
        cluster_name, cluster_endpoint, gitops_url, created_at, updated_at from specs`,
    )
    .run(managed);
  database.exec(
    `insert into workers (id, owner_id, name, mode, token_hash, labels, created_at, metadata)
      values ('2', '1', 'w', 'self-hosted', '2', '[]', 2, '{"a":1,"deploy_configuration":{"targets":["x"]}}')`,
  );
  for (const [id, labels, assigned, snapshot] of queued) {
    const job = `insert into jobs (id, owner_id, job_type, status, labels, assigned_worker_id, timeout_seconds, attempt, created_at)
      values (?, '1', 'PLAN', 'QUEUED', ?, ?, 1, 0, 1)`;
    database.prepare(job).run(id, labels, assigned);
    database.prepare("insert into job_snapshots values (?, ?)").run(id, snapshot);
  }
  for (const [id, message] of ended)
    database
      .prepare(
        `insert into jobs (id, owner_id, job_type, status, labels, timeout_seconds, attempt, created_at, ended_at, error_message)
          values (?, '1', 'DEPLOY', 'FAILED', '[]', 1, 1, 1, 7, ?)`,
      )
      .run(id, message);
  database.exec(
    `insert into cli_logins (device_code, profile_id, verification_code, created_at, expires_at) values ('open', '1', '${shown}', 5, 9)`,
  );
  database.close();
}

/** Opens the store in another process, as a second server would. */
const openInProcess = () =>
  promisify(execFile)(process.execPath, [
    "--input-type=module-typescript",
    "--eval",
    `import { openSqlite } from ${JSON.stringify(new URL("../../../../control-plane/store/engines/sqlite.ts", import.meta.url).href)};
    await (await openSqlite(process.argv[1])).close();`,
    file,
  ]);

function read(path = file): Rows {
  const database = new Database(path);
  const rows = tablesOf(database).map((table) => [
    table,
    database.prepare(`select * from ${table} order by 1`).all(),
  ]);
  database.close();
  return Object.fromEntries(rows) as Rows;
}

it("keeps every row of the first release, except verification codes", async () => {
  const before = read();
  expect(Object.values(before).filter(({ length }) => length === 0)).toEqual([]);
  await Promise.all([openInProcess(), openInProcess()]);
  const after = read();

  expect(after.schema_version).toEqual([
    { version: knownSchema, compatible_since: compatibleSince },
  ]);
  for (const [table, rows] of Object.entries(before).filter(([name]) => name !== "schema_version"))
    for (const [index, row] of rows.entries()) {
      const { verification_code, ...rest } = row;
      const kept =
        table === "workers" && row.id === "2"
          ? { ...rest, metadata: '{"a":1,"unchecked_deploy_configuration":{"targets":["x"]}}' }
          : rest;
      const now = after[table]?.[index];
      const ended = verification_code !== undefined && row.used_at === null;
      if (row.id === "stateless")
        expect(now?.definition).toBe('{"source":{"type":"archive","sha256":"1"}}');
      else expect(now).toMatchObject(ended ? { ...kept, expires_at: row.created_at } : kept);
      expect(JSON.stringify(now)).not.toContain(shown);
    }
  const wanted = (after.queue_heads ?? []).map((head) => [head.job_id, head.wanted]);
  expect(Object.fromEntries(wanted)).toEqual(
    Object.fromEntries(queued.map(([id, , , , wants]) => [id, wants])),
  );
  const jobs = new Map(after.jobs?.map((job) => [job.id, job]));
  for (const [id, error_message, presumed_lost_at, outcome_unknown] of ended)
    expect(jobs.get(id)).toMatchObject({ error_message, presumed_lost_at, outcome_unknown });
  expect(after.log_chunks).toMatchObject([{ log_chunk: "1", step: null, resource: null }]);
  expect(after.facts).toContainEqual({ name: "states_to_recount", value: "" });
  expect(after.archives).toMatchObject([{ named_at: 1 }]);
  // Only one with resources is known; the others are counted again.
  expect(after.state_versions).toMatchObject([{ resources: 1, resource_count: 1 }]);
  expect(after.accounts).toMatchObject([{ host: "" }]);
});

it("keeps variable sets, and what they are attached to", async () => {
  const path = join(directory, "sets.db");
  const connection = new Connection(path, {});
  const version = migrations.indexOf(variableSets) + 1;
  for (const { up } of migrations.slice(0, version)) await up(connection.sql as never);
  const { database } = connection;
  database.exec(`create table schema_version (version integer not null);
    insert into schema_version values (${version})`);
  for (const table of ["users", "zones", "cloud_identities", "specs", "variable_sets"]) {
    const columns = columnsOf(database, table);
    database
      .prepare(`insert into ${table} values (${columns.map(() => "?").join()})`)
      .run(...columns.map(valueOf));
  }
  database.exec("insert into variable_set_attachments values ('1', '1', null), ('1', null, '1')");
  database.close();
  const { schema_version: _, ...before } = read(path);
  await (await openSqlite(path)).close();
  const { schema_version, ...after } = read(path);
  expect(schema_version).toMatchObject([{ version: knownSchema }]);
  expect(after).toMatchObject(before);
  expect(after.variable_sets).toMatchObject([{ id: "1", definition: managed }]);
  expect(after.variable_set_attachments).toHaveLength(2);
});

it("results in the same schema as a new store", async () => {
  const fresh = join(directory, "fresh.db");
  await (await openSqlite(fresh)).close();
  await (await openSqlite(file)).close();
  const [upgraded, made] = [file, fresh].map((name) => {
    const database = new Database(name);
    const schema = database
      .prepare("select type, name, sql from sqlite_schema order by name")
      .all();
    const faults = [
      database.pragma("foreign_key_check"),
      database.pragma("integrity_check", { simple: true }),
    ];
    database.close();
    return { schema, faults };
  });
  expect(upgraded).toEqual(made);
  expect(made?.faults).toEqual([[], "ok"]);
});

it("prevents any statement from changing or deleting audit entries", async () => {
  const store = await openSqlite(join(directory, "audit.db"));
  const entry = { id: "1", action: "zone.create", actor_kind: "system", details: "{}" } as const;
  await store.write((tx) =>
    tx.sql
      .insertInto("audit_entries")
      .values({ ...entry, created_at: 1 } as never)
      .execute(),
  );
  const kept = store.read.sql.selectFrom("audit_entries").selectAll();
  const [before] = await kept.execute();
  for (const change of [sql`delete from audit_entries`, sql`update audit_entries set action = 'x'`])
    await expect(store.write((tx) => change.execute(tx.sql))).rejects.toThrow("only added");
  expect(await kept.execute()).toEqual([before]);
  await store.close();
});

it("is used without a change by an older release that knows a compatible schema", async () => {
  const path = join(directory, "newer.db");
  await (await openSqlite(path)).close();
  const database = new Database(path);
  const newer = { version: knownSchema + 2, compatible_since: knownSchema };
  database
    .prepare("update schema_version set version = @version, compatible_since = @compatible_since")
    .run(newer);
  database.close();
  await (await openSqlite(path)).close();
  expect(read(path).schema_version).toEqual([newer]);
});

/** What a server of the release before may rely on. */
interface Shape {
  /** Types and conditions by table and column. */
  readonly columns: Map<string, Column & { notnull: number; dflt_value: unknown; pk: number }>;
  readonly tables: Set<string>;
  /** Triggers and unique indexes, which restrict what may be written. */
  readonly rules: Map<string, string>;
}

function shapeOf(database: Database.Database): Shape {
  const tables = tablesOf(database);
  const all = database.prepare("select type, name, tbl_name, sql from sqlite_schema").all() as {
    type: string;
    name: string;
    tbl_name: string;
    sql: string | null;
  }[];
  return {
    tables: new Set(tables),
    columns: new Map(
      tables.flatMap((table) =>
        columnsOf(database, table).map((column) => [`${table}.${column.name}`, column as never]),
      ),
    ),
    rules: new Map(
      all
        .filter(({ type, sql: text }) => type === "trigger" || /^create unique/i.test(text ?? ""))
        .map(({ name, tbl_name, sql: text }) => [name, `${tbl_name}: ${text}`]),
    ),
  };
}

it("only gets more from migrations that say that they are additive", async () => {
  const connection = new Connection(":memory:", {});
  connection.database.unsafeMode(true);
  const { database } = connection;
  database.exec("create table schema_version (version integer not null)");
  for (const { up, isAdditive } of migrations) {
    const before = shapeOf(database);
    await up(connection.sql as never);
    const after = shapeOf(database);
    if (isAdditive !== true) continue;
    expect([...after.columns.entries()]).toEqual(expect.arrayContaining([...before.columns]));
    const isOfOldTable = (column: string) => before.tables.has(column.split(".")[0] ?? "");
    const required = [...after.columns].filter(
      ([name, { notnull, dflt_value }]) =>
        isOfOldTable(name) && !before.columns.has(name) && notnull === 1 && dflt_value === null,
    );
    expect(required.map(([name]) => name)).toEqual([]);
    const rules = [...after.rules.entries()].filter(
      ([name, rule]) =>
        before.rules.get(name) !== rule && before.tables.has(rule.split(":")[0] ?? ""),
    );
    expect(rules).toEqual([]);
  }
  database.close();
});
