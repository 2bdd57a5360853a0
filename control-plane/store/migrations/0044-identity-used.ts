/**
 * The cloud identity that a job was given at its claim: JSON with provider, role and external id. A
 * plan of an older server can be deployed while it is known that its identity has not changed since.
 */
import { sql, type Kysely } from "kysely";
import { claimedIdentity } from "../identities/identities.ts";

/** Adds the column, and fills it for the plans that can still be deployed. */
export const up = (db: Kysely<unknown>): Promise<void> => run(db, "text");

/** The same for PostgreSQL. */
export const upPostgres = (db: Kysely<unknown>): Promise<void> => run(db, `text collate "C"`);

export const isAdditive = true;

async function run(db: Kysely<unknown>, type: string): Promise<void> {
  await sql.raw(`alter table jobs add column identity_used ${type}`).execute(db);
  await sql`update jobs set identity_used = ${claimedIdentity}
    where id in (select job_id from plan_artifacts) and exists (
      select 1 from cloud_identities as unchanged
      where unchanged.id = jobs.cloud_identity_id and unchanged.updated_at <= jobs.claimed_at)`.execute(
    db,
  );
}
