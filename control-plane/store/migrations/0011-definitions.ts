/**
 * A configuration's backend is a person's choice: the server used to choose `managed` for every
 * configuration. And hashes of sensitive values in clear, from which a short secret can be found,
 * are removed: plans of such configurations are stale.
 */
import { sql, type Kysely } from "kysely";

/**
 * A configuration that has a managed state keeps it; any other uses the backend that its files
 * declare, if they do.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const hasState = (spec: string): string =>
  `exists (select 1 from state_versions where state_versions.spec_id = ${spec})`;
const isManaged = (json: string): string => `json_extract(${json}, '$.backend') = 'managed'`;

const statements = [
  `update specs set definition = json_remove(definition, '$.backend')
    where ${isManaged("definition")} and not ${hasState("specs.id")}`,
  `update job_snapshots set config_snapshot = json_remove(config_snapshot, '$.backend')
    where ${isManaged("config_snapshot")} and job_id in (
      select id from jobs where status = 'QUEUED' and not ${hasState("jobs.spec_id")})`,
  `update jobs set config_hash = null where config_hash is not null and id in (
    select job_id from job_snapshots where config_snapshot like '%"sealed":%')`,
];
