/** What is deployed of a configuration is found by an index, however many plans it has had since. */
import { sql, type Kysely } from "kysely";

/** Adds the indexes. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  `create index jobs_deployed on jobs (spec_id, claimed_at)
    where status = 'SUCCESS' and job_type <> 'PLAN' and job_type <> 'DESTROY_WORKER'`,
  `drop index specs_summary`,
  `create index specs_summary on specs (owner_id, zone_id, id, name, status, updated_at, error_message, deployed_backend,
    json_remove(json_extract(definition, '$.source'), '$.files'))`,
];
