import { sql } from "kysely";
import { jobsBy } from "../indexed.ts";
import { statement } from "../statement.ts";

export interface EarlierValues {
  readonly id: string;
  readonly claimed_at: number;
  /** Null if it has no sealed value, or the same values as the claimed job. */
  readonly config_snapshot: string | null;
  /** 0 for a plan with targets and for a teardown: older values may be left in the state. */
  readonly is_whole: number;
}

/** The last DEPLOY or destruction of a spec that was claimed before this moment and has started. */
export const findEarlierValues = statement<
  { spec: string; job: string; before: number },
  EarlierValues
>((db, { spec, job, before }) => {
  const snapshot = sql.ref("job_snapshots.config_snapshot");
  return db
    .selectFrom(jobsBy("jobs_spec_started"))
    .leftJoin("job_snapshots", "job_snapshots.job_id", "jobs.id")
    .select([
      "jobs.id",
      sql<number>`jobs.claimed_at`.as("claimed_at"),
      sql<string | null>`case
        when config_hash = (select config_hash from jobs as claimed where claimed.id = ${job}) then null
        when instr(${snapshot}, '"sealed":') > 0 or job_snapshots.definition_id is not null then ${snapshot} end`.as(
        "config_snapshot",
      ),
      sql<number>`case when status = 'SUCCESS' and job_type <> 'DESTROY_WORKER'
        and instr(${snapshot}, '"plan_options":') = 0 then 1 else 0 end`.as("is_whole"),
    ])
    .where("jobs.spec_id", "=", spec)
    .where("jobs.claimed_at", "<", before)
    .where("jobs.started_at", "is not", null)
    .where("jobs.job_type", "<>", sql.lit("PLAN" as const))
    .orderBy("jobs.claimed_at", "desc")
    .limit(1);
});
