/** What the migration of the history finds in a store with jobs. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openSqlite } from "../../../../control-plane/store/engines/sqlite.ts";
import { Connection } from "../../../../control-plane/store/engines/sqlite-connection.ts";
import { up } from "../../../../control-plane/store/migrations/0024-history.ts";

it("finds in the audit log who created each job", async () => {
  const directory = await mkdtemp(join(tmpdir(), "history-"));
  const file = join(directory, "windlass.db");
  await (await openSqlite(file)).close();
  const connection = new Connection(file, {});
  const { database } = connection;
  database.exec(`
    drop index jobs_created_by; drop index jobs_type; drop index plan_summaries_counts;
    alter table jobs drop column created_by;
    insert into users (id, email, created_at) values ('o', 'ada@example.com', 1);`);
  for (const [id, action, name] of [
    ["1", "job.create", "ada@example.com"],
    ["2", "job.retry", "grace@example.com"],
    ["3", "job.cancel", "joan@example.com"],
  ])
    database.exec(`
      insert into jobs (id, owner_id, job_type, status, labels, timeout_seconds, attempt, created_at)
        values ('${id}', 'o', 'PLAN', 'SUCCESS', '[]', 1, 1, 1);
      insert into audit_entries (id, owner_id, action, actor_kind, actor_name, target_id, details, created_at)
        values ('${id}', 'o', '${action}', 'session', '${name}', '${id}', '{}', 1)`);
  await up(connection.sql as never);
  const found = database.prepare("select id, created_by from jobs order by id").raw().all();
  database.close();
  await rm(directory, { recursive: true });
  expect(found).toEqual([
    ["1", "ada@example.com"],
    ["2", "grace@example.com"],
    ["3", null],
  ]);
});
