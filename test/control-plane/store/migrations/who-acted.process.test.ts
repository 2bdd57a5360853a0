/** What the migration finds in a store with cancelled jobs and states that users stored. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql, type Kysely } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPostgres } from "../../../../control-plane/store/engines/postgres.ts";
import { openSqlite } from "../../../../control-plane/store/engines/sqlite.ts";
import { Connection } from "../../../../control-plane/store/engines/sqlite-connection.ts";
import { fill, up, upPostgres } from "../../../../control-plane/store/migrations/0039-who-acted.ts";
import { postgresForFile } from "../../../helpers/store/postgres-for-file.ts";

const dropped = [
  "alter table jobs drop column cancelled_by",
  "alter table state_versions drop column stored_by",
  "alter table state_versions drop column copy_of",
];

/** The zone with the specs and jobs of `new` has moved there from `old`. */
const base = [
  `insert into users (id, email, created_at) values ('old', 'ada@example.com', 1), ('new', 'grace@example.com', 1)`,
  `insert into zones (id, owner_id, name, created_at, updated_at) values ('z', 'new', 'z', 1, 1)`,
  ...["a", "b"].map(
    (
      id,
    ) => `insert into specs (id, owner_id, zone_id, name, project_name, labels, definition, status, created_at, updated_at)
      values ('${id}', 'new', 'z', '${id}', '${id}', '[]', '{}', 'NEW', 1, 1)`,
  ),
];

const job = (id: string, owner: string, cancelled_at: number | null) =>
  `insert into jobs (id, owner_id, job_type, status, labels, timeout_seconds, attempt, created_at, cancelled_at)
    values ('${id}', '${owner}', 'PLAN', 'CANCELLED', '[]', 1, 1, 1, ${cancelled_at})`;

const version = (spec: string, serial: number, created_at: number, job_id: string | null = null) =>
  `insert into state_versions (spec_id, serial, lineage, md5, size_bytes, resources, blob, job_id, created_at)
    values ('${spec}', ${serial}, 'l', '', 1, 0, '', ${job_id === null ? "null" : `'${job_id}'`}, ${created_at})`;

let entries = 0;
const entry = (owner: string, action: string, target: string, at: number, details: object = {}) =>
  `insert into audit_entries (id, owner_id, action, actor_kind, actor_name, target_id, details, created_at)
    values ('${(entries += 1)}', '${owner}', '${action}', 'session', 'by ${action}', '${target}', '${JSON.stringify(details)}', ${at})`;

const history = [
  job("cancelled", "new", 5),
  entry("new", "job.cancel", "cancelled", 5),
  // A step of the server's clock has moved its time.
  job("moved", "new", 7),
  entry("old", "job.cancel", "moved", 5),
  job("rejected", "new", 5),
  entry("new", "job.reject", "rejected", 5),
  job("by its runner", "new", null),
  entry("new", "job.end", "by its runner", 5),
  version("a", 1, 5, "cancelled"),
  version("a", 2, 5),
  entry("old", "state.push", "a", 5, { serial: 2 }),
  version("a", 3, 6),
  entry("new", "state.roll_back", "a", 6, { serial: 3, from_serial: 1 }),
  // Of a time without an entry, as in a store that was not always recorded.
  version("a", 4, 7),
  version("b", 2, 5),
  entry("new", "state.download", "b", 5, { serial: 2 }),
];

const found = [
  [
    ["by its runner", null],
    ["cancelled", "by job.cancel"],
    ["moved", "by job.cancel"],
    ["rejected", null],
  ],
  [
    ["a", 1, null, null],
    ["a", 2, "by state.push", null],
    ["a", 3, "by state.roll_back", 1],
    ["a", 4, null, null],
    ["b", 2, null, null],
  ],
];

async function migrated(db: Kysely<unknown>, migration: typeof up) {
  for (const statement of [...dropped, ...base, ...history]) await sql.raw(statement).execute(db);
  await migration(db);
  const read = async (query: string) =>
    (await sql.raw<Record<string, unknown>>(query).execute(db)).rows.map(Object.values);
  return [
    await read("select id, cancelled_by from jobs order by id"),
    await read(
      "select spec_id, serial, stored_by, copy_of from state_versions order by spec_id, serial",
    ),
  ];
}

describe("on SQLite", () => {
  let connection: Connection;
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "who-acted-"));
    const file = join(directory, "windlass.db");
    await (await openSqlite(file)).close();
    connection = new Connection(file, {});
  });
  afterAll(async () => {
    connection.database.close();
    await rm(directory, { recursive: true });
  });

  it("finds in the audit log of every space who acted", async () => {
    expect(await migrated(connection.sql as never, up)).toEqual(found);
  });

  it("reads jobs, states and audit entries by their indexes", () => {
    const plan = fill("sqlite").flatMap(
      (statement) =>
        connection.database.prepare(`explain query plan ${statement}`).all() as {
          detail: string;
        }[],
    );
    const details = plan.map(({ detail }) => detail);
    expect(details.filter((detail) => /^SCAN (?!spaces|entries)/.test(detail))).toEqual([]);
    for (const index of [
      "audit_entries_action",
      "sqlite_autoindex_jobs_1",
      "state_versions_serial",
    ])
      expect(details).toContainEqual(expect.stringMatching(`^SEARCH .*INDEX ${index} `));
  });
});

describe("on PostgreSQL", () => {
  const postgres = postgresForFile();

  it("finds in the audit log of every space who acted", async () => {
    const store = await openPostgres({
      url: await postgres.server.createMigrated(),
      connections: 3,
    });
    expect(await store.write((tx) => migrated(tx.sql as never, upPostgres))).toEqual(found);
    await store.close();
  });
});
