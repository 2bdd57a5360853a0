/** What the migration of failed jobs finds in a store with jobs. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openSqlite } from "../../../../control-plane/store/engines/sqlite.ts";
import { Connection } from "../../../../control-plane/store/engines/sqlite-connection.ts";
import { up } from "../../../../control-plane/store/migrations/0029-failed-job.ts";

type Job = readonly [type: "PLAN" | "DEPLOY", status: "SUCCESS" | "FAILED" | "CANCELLED"];
const specs: readonly (readonly [
  id: string,
  status: string,
  jobs: readonly Job[],
  failed: number | null,
])[] = [
  ["new", "NEW", [], null],
  [
    "plan failed",
    "FAILED",
    [
      ["DEPLOY", "SUCCESS"],
      ["PLAN", "FAILED"],
    ],
    1,
  ],
  ["apply failed", "FAILED", [["DEPLOY", "FAILED"]], 0],
  [
    "apply failed, planned since",
    "DEPLOYED",
    [
      ["DEPLOY", "FAILED"],
      ["PLAN", "SUCCESS"],
    ],
    0,
  ],
  ["apply cancelled half-way", "FAILED", [["DEPLOY", "CANCELLED"]], 0],
  [
    "applied again",
    "DEPLOYED",
    [
      ["DEPLOY", "FAILED"],
      ["DEPLOY", "SUCCESS"],
    ],
    null,
  ],
];

it("finds the failure of each configuration that has not been made good", async () => {
  const directory = await mkdtemp(join(tmpdir(), "failed-job-"));
  const file = join(directory, "windlass.db");
  await (await openSqlite(file)).close();
  const connection = new Connection(file, {});
  const { database } = connection;
  database.exec(`
    drop index specs_failed; drop index specs_summary;
    alter table specs drop column failed_job_id;
    create index specs_failed on specs (id); create index specs_summary on specs (id);
    insert into users (id, email, created_at) values ('o', 'ada@example.com', 1);
    insert into zones (id, owner_id, name, created_at, updated_at) values ('z', 'o', 'z', 1, 1)`);
  for (const [id, status, jobs] of specs) {
    database.exec(`
      insert into specs (id, owner_id, zone_id, name, project_name, labels, definition, status, created_at, updated_at)
        values ('${id}', 'o', 'z', '${id}', '${id}', '[]', '{}', '${status}', 1, 1)`);
    for (const [index, [type, end]] of jobs.entries())
      database.exec(`
        insert into jobs (id, owner_id, spec_id, job_type, status, labels, timeout_seconds, attempt, created_at, claimed_at, started_at, released_at)
          values ('${id} ${index}', 'o', '${id}', '${type}', '${end}', '[]', 1, 1, 1, ${index}, 1, 1)`);
  }
  await up(connection.sql as never);
  const found = database.prepare("select id, failed_job_id from specs order by rowid").raw().all();
  database.close();
  await rm(directory, { recursive: true });
  expect(found).toEqual(
    specs.map(([id, , , failed]) => [id, failed === null ? null : `${id} ${failed}`]),
  );
});
