/** The upgrade of a database that a server of 0.1.0 has written (test/fixtures/store-0.1.0.sql). */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import Database from "better-sqlite3";
import { sql } from "kysely";
import { pino } from "pino";
import { beforeAll, expect, it } from "vitest";
import { readConfig } from "../../../../control-plane/config.ts";
import { startServer } from "../../../../control-plane/server.ts";
import { openBeside, openSqlite } from "../../../../control-plane/store/engines/sqlite.ts";
import { knownSchema } from "../../../../control-plane/store/migrate.ts";
import { callsOf } from "../../../helpers/plane/calls.ts";
import type { Plane } from "../../../helpers/plane/plane.ts";
import { openPerson } from "../../../helpers/people/sign-in.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";

type Row = Record<string, unknown>;
type Rows = Record<string, Row[]>;

const directory = folderForFile();
const file = join(directory, "windlass.db");
let before: Rows;
let after: Rows;
beforeAll(async () => {
  const database = new Database(file);
  const fixture = new URL("../../../fixtures/store-0.1.0.sql", import.meta.url);
  database.exec(readFileSync(fixture, "utf8"));
  database.close();
  before = read();
  // Two servers at once: one waits for the other, and finds nothing to do.
  await Promise.all([openInProcess(), openInProcess()]);
  after = read();
});

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
  const tables = database
    .prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'")
    .pluck()
    .all() as string[];
  const rows = tables.map((name) => [
    name,
    database.prepare(`select * from ${name} order by 1`).all(),
  ]);
  database.close();
  return Object.fromEntries(rows) as Rows;
}

/** Returns fields of the rows of a table, by the name of a configuration. */
const bySpec = (table: string, ...fields: string[]): Record<string, unknown[][]> =>
  Object.fromEntries(
    after.specs!.map(({ id, name }) => [
      name,
      after[table]!.filter((row) => row.spec_id === id).map((row) => fields.map((f) => row[f])),
    ]),
  );

it("results in the same schema as a new store", async () => {
  const fresh = join(directory, "fresh.db");
  await (await openSqlite(fresh)).close();
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
    return { schema, faults, version: read(name).schema_version };
  });
  expect(upgraded).toEqual(made);
  expect(made).toMatchObject({ faults: [[], "ok"], version: [{ version: knownSchema }] });
});

it("keeps every row, and every field that has not got another meaning", () => {
  expect(Object.entries(before).filter(([, rows]) => rows.length === 0)).toEqual([]);
  const changed: string[] = [];
  for (const [table, rows] of Object.entries(before).filter(([name]) => name !== "schema_version"))
    for (const [index, row] of rows.entries())
      for (const [field, value] of Object.entries(row))
        if (after[table]?.[index]?.[field] !== value) changed.push(`${table}.${field}`);
  // The backends that 0.1.0 has chosen for configurations without a managed state, and for a queued job
  // of one of them. The hashes of a sensitive value. A deploy configuration that was not checked.
  expect(
    Object.entries(Object.groupBy(changed, (field) => field)).map(([field, all]) => [
      field,
      all?.length,
    ]),
  ).toEqual([
    ["specs.definition", 4],
    ["workers.metadata", 1],
    ["jobs.config_hash", 2],
    ["job_snapshots.config_snapshot", 1],
  ]);
  expect(after.workers!.map(({ metadata }) => metadata)).toContain(
    '{"region":"eu","unchecked_deploy_configuration":{"targets":["module.worker"]}}',
  );
  const backends = after.specs!.map(({ name, definition }) => [
    name,
    (JSON.parse(definition as string) as Row).backend,
  ]);
  expect(Object.fromEntries(backends)).toEqual({
    deployed: "managed",
    lost: "managed",
    "own-backend": "own",
  });
});

it("fills the fields that 0.1.0 did not have", () => {
  const ada = "ada@example.com";
  expect(after.jobs!.filter((job) => job.created_by !== ada)).toEqual([]);
  expect(after.jobs!.filter((job) => job.creator_id !== job.owner_id)).toEqual([]);
  const cancelled = after.jobs!.filter((job) => job.cancelled_at !== null);
  expect(cancelled.map(({ cancelled_by }) => cancelled_by)).toEqual([ada, ada]);
  const ended = after.jobs!.find(({ presumed_lost_at }) => presumed_lost_at !== null)?.ended_at;
  const [sure, lost] = [
    [null, 0],
    [ended, 1],
  ];
  expect(bySpec("jobs", "presumed_lost_at", "outcome_unknown")).toEqual({
    deployed: [sure, sure, sure, sure],
    "apply-failed": [sure, sure, sure],
    lost: [lost, sure],
    "plan-failed": [sure, sure],
    "never-run": [],
    secret: [sure, sure],
    "own-backend": [[null, 1], sure, sure, sure],
  });
  // Those of plans that can be deployed, and that have an identity.
  const used = after.jobs!.flatMap(({ identity_used }) => identity_used ?? []);
  const identity = { provider: "aws", role_arn: "arn:aws:iam::123456789012:role/terraform" };
  expect(used.map((text) => JSON.parse(text as string) as Row)).toMatchObject([identity, identity]);
  const jobs = bySpec("jobs", "id", "job_type", "status");
  expect(after.specs!.map(({ name, failed_job_id }) => [name, failed_job_id])).toEqual([
    ["deployed", null],
    ["apply-failed", jobs["apply-failed"]?.[0]?.[0]],
    ["lost", jobs.lost?.[0]?.[0]],
    ["plan-failed", jobs["plan-failed"]?.[1]?.[0]],
    ["never-run", null],
    ["secret", null],
    // The last apply was cancelled, and the configuration is FAILED.
    ["own-backend", jobs["own-backend"]?.[2]?.[0]],
  ]);
  expect(
    bySpec("state_versions", "serial", "stored_by", "copy_of", "resource_count"),
  ).toMatchObject({
    deployed: [
      [1, null, null, 1],
      [2, null, null, 1],
      [3, ada, 1, 1],
    ],
    lost: [[1, null, null, 1]],
  });
  expect(after.facts).toContainEqual({ name: "states_to_recount", value: "" });
  expect(after.accounts).toMatchObject([{ host: "" }]);
  expect(after.spaces!.map(({ id }) => id)).toEqual(after.users!.map(({ id }) => id));
  const sum = (table: string) =>
    after[table]!.reduce((bytes, { size_bytes }) => bytes + Number(size_bytes), 0);
  expect(after.owner_usage).toContainEqual({
    owner_id: after.specs![0]?.owner_id,
    archive_bytes: sum("archives"),
    state_bytes: sum("state_versions"),
  });
  // The head of a locked configuration is not free.
  expect(bySpec("queue_heads", "wanted", "first_wanted", "is_free")).toMatchObject({
    deployed: [['["eu"]', "eu", 1]],
    lost: [["[]", "", 0]],
    secret: [["[]", "", 1]],
    "own-backend": [["[]", "", 1]],
  });
});

it("is read by a server of this version as it was by one of 0.1.0", async () => {
  const config = readConfig({
    WINDLASS_DATA_DIR: directory,
    WINDLASS_PORT: "0",
    // That of the server that wrote the fixture.
    WINDLASS_SECRET_KEY: Buffer.alloc(32, 1).toString("base64"),
  });
  const { url, context, close } = await startServer(config, pino({ level: "silent" }));
  try {
    const { headers } = await openPerson({ url, context } as Plane, "ada@example.com");
    const ada = callsOf({ url }, headers);
    const { zones } = await ada.call("listZones");
    expect(zones).toMatchObject([{ name: "production" }]);
    const listed = await ada.call("listConfigurations");
    expect(listed.configurations.map(({ name, status }) => `${name} ${status}`).toSorted()).toEqual(
      [
        "apply-failed FAILED",
        "deployed DEPLOYED",
        "lost FAILED",
        "never-run NEW",
        "own-backend FAILED",
        "plan-failed FAILED",
        "secret NEW",
      ],
    );
    const { workers } = await ada.call("listWorkers");
    expect(workers).toHaveLength(3);
    const { jobs } = await ada.call("listJobs");
    expect(jobs).toHaveLength(17);
    const deployment = jobs.find((job) => job.job_type === "DEPLOY" && job.status === "SUCCESS")!;
    const { logs } = await ada.call("getJobLogs", { params: { id: deployment.id }, query: {} });
    expect(logs.map(({ log_chunk }) => log_chunk)).toEqual([
      "terraform 1.11.4: init\n",
      "terraform 1.11.4: apply\n",
      "Apply complete! Resources: 2 added, 0 changed, 0 destroyed.\n",
    ]);
    const plan = await ada.call("getPlanSummary", { params: { id: deployment.plan_job_id! } });
    expect(plan.plan_summary?.counts).toMatchObject({ create: 2 });
    const params = { name: "deployed" };
    const states = await ada.call("listStateVersions", { params, query: {} });
    expect(states.state_versions.map(({ serial }) => serial)).toEqual([3, 2, 1]);
  } finally {
    await close();
  }
});

it("prevents any statement from changing or deleting audit entries", async () => {
  const store = await openSqlite(file);
  for (const change of [sql`delete from audit_entries`, sql`update audit_entries set action = 'x'`])
    await expect(store.write((tx) => change.execute(tx.sql))).rejects.toThrow("only added");
  await store.close();
});

it("is used without a change by an older release that knows a compatible schema", async () => {
  const path = join(directory, "newer.db");
  await (await openSqlite(path)).close();
  const newer = { version: knownSchema + 2, compatible_since: knownSchema };
  setSchema(path, newer);
  await (await openSqlite(path)).close();
  expect(read(path).schema_version).toEqual([newer]);
});

it("is refused without a change if the data is of a version that was never released", async () => {
  const path = join(directory, "unreleased.db");
  await (await openSqlite(path)).close();
  setSchema(path, { version: 43, compatible_since: 43 });
  const unchanged = read(path);
  const message =
    /never released \(schema 43\), and this version can use only that of releases \(schema 7 or/;
  for (const open of [openSqlite, openBeside]) await expect(open(path)).rejects.toThrow(message);
  expect(read(path)).toEqual(unchanged);
});

function setSchema(path: string, schema: { version: number; compatible_since: number }): void {
  const database = new Database(path);
  database
    .prepare("update schema_version set version = @version, compatible_since = @compatible_since")
    .run(schema);
  database.close();
}
