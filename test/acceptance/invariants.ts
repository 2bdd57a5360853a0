/** What must hold in every store at every moment. */
import { sql } from "kysely";
import type { Plane } from "../helpers/plane/plane.ts";

/** Each query returns the rows that break the rule. */
const rules: Readonly<Record<string, string>> = {
  "a queued job has no holder and no end":
    "select id from jobs where status = 'QUEUED' and (worker_id is not null or ended_at is not null or released_at is not null)",
  "a running job has a holder, an attempt and no end":
    "select id from jobs where status = 'PROCESSING' and (worker_id is null or claimed_at is null or attempt < 1 or ended_at is not null)",
  "a job that is over has an end":
    "select id from jobs where status in ('SUCCESS', 'FAILED', 'CANCELLED') and ended_at is null",
  "a configuration has at most one job that is claimed and not released":
    "select spec_id as id from jobs where worker_id is not null and released_at is null and spec_id is not null group by spec_id having count(*) > 1",
  "a job belongs to the owner of its configuration":
    "select jobs.id from jobs join specs on specs.id = jobs.spec_id where specs.owner_id <> jobs.owner_id",
  "a job is held by a worker of its owner, or by a cloud-hosted worker":
    "select jobs.id from jobs join workers on workers.id = jobs.worker_id where workers.owner_id <> jobs.owner_id",
  "a configuration is in a zone of its owner":
    "select specs.id from specs join zones on zones.id = specs.zone_id where zones.owner_id <> specs.owner_id",
  "a configuration uses a cloud identity of its owner":
    "select specs.id from specs join cloud_identities c on c.id = specs.cloud_identity_id where c.owner_id <> specs.owner_id",
  "a variable set is attached to things of its owner":
    "select s.id from variable_set_attachments a join variable_sets s on s.id = a.set_id left join zones on zones.id = a.zone_id left join specs on specs.id = a.spec_id where s.owner_id is distinct from coalesce(zones.owner_id, specs.owner_id)",
  "a job has its snapshot":
    "select id from jobs where job_type <> 'DESTROY_WORKER' and id not in (select job_id from job_snapshots)",
  "a lock is of a job of its configuration":
    "select l.spec_id as id from state_locks l left join jobs on jobs.id = l.job_id where jobs.spec_id is distinct from l.spec_id",
  "the numbered chunks of a log have no gap":
    "select job_id as id from log_chunks where seq is not null group by job_id having count(distinct seq) <> count(*)",
  "JSON columns are valid":
    "select id from jobs where not json_valid(labels) union all select id from specs where not json_valid(definition) union all select id from workers where not json_valid(metadata) union all select id from variable_sets where not json_valid(definition)",
  "a code was guessed at most five times":
    "select device_code as id from cli_logins where wrong_guesses > 5",
};

/** Returns the rows that break a rule, as `rule: id`, and what SQLite reports about the file. */
export async function breaches({ context }: Plane): Promise<string[]> {
  const queries = context.store.read.sql;
  const found: string[] = [];
  for (const [rule, text] of Object.entries(rules)) {
    if (context.store.isShared && text.includes("json_valid")) continue;
    const { rows } = await sql.raw<{ id: string }>(text).execute(queries);
    found.push(...rows.map(({ id }) => `${rule}: ${id}`));
  }
  // PostgreSQL checks its own files and references.
  if (context.store.isShared) return found;
  const whole = await sql<{ integrity_check: string }>`pragma integrity_check`.execute(queries);
  found.push(...whole.rows.map((row) => row.integrity_check).filter((said) => said !== "ok"));
  const foreign = await sql<object>`pragma foreign_key_check`.execute(queries);
  return [...found, ...foreign.rows.map((row) => JSON.stringify(row))];
}
