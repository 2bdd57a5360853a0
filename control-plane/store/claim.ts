/**
 * The claim: one atomic statement that takes the oldest job a worker may have. It looks at the worker itself, because one that was
 * removed or drained a moment before (in the same commit) would hold its job for ever, or longer than its drain says. Raw SQL, because it must keep its index: after
 * ANALYZE with all rows QUEUED, SQLite's planner drops the partial index (25 ms a claim at 100,000 rows: goals.md), hence INDEXED BY,
 * and test/control-plane/store/claim.test.ts looks at the query plan.
 */
import { sql, type RawBuilder } from "kysely";
import type { JobRow } from "../domain/job.ts";
import { claimedIdentity } from "./cloud-identities.ts";
import { heldByWorker, jobsBy } from "./indexed.ts";
import { statement } from "./statement.ts";

export interface ClaimParams {
  readonly [name: string]: string | number | null;
  readonly worker: string;
  /** JSON array. */
  readonly labels: string;
  readonly claim_key: string | null;
  readonly now: number;
}

/** What a runner must be told of the job it got. */
export type ClaimRow = Pick<
  JobRow,
  | "id"
  | "job_type"
  | "spec_id"
  | "zone_id"
  | "plan_job_id"
  | "attempt"
  | "timeout_seconds"
  | "assigned_worker_id"
> & {
  readonly config_snapshot: string | null;
  /** JSON. */
  readonly cloud_identity: string | null;
};

/** A claim by a worker of one owner. */
export const claimOwnJob = statement<ClaimParams & { owner: string }, ClaimRow>((db, params) =>
  claim(params, sql`jobs_queued`, sql`j.owner_id = ${params.owner} and`).compileWith(db),
);

/** A claim by a cloud-hosted worker: any owner's job. */
export const claimAnyJob = statement<ClaimParams, ClaimRow>((db, params) =>
  claim(params, sql`jobs_queued_all`, sql``).compileWith(db),
);

/** The job that an earlier claim with the same key got and that was not started yet (decisions.md, Idempotency-Key). */
export const findClaimed = statement<
  { worker: string; claim_key: string; after: number },
  ClaimRow
>((db, { worker, claim_key, after }) =>
  db
    .selectFrom(heldByWorker)
    .leftJoin("job_snapshots", "job_snapshots.job_id", "jobs.id")
    .select([
      "id",
      "job_type",
      "spec_id",
      "zone_id",
      "plan_job_id",
      "attempt",
      "timeout_seconds",
      "assigned_worker_id",
      "config_snapshot",
      claimedIdentity.as("cloud_identity"),
    ])
    .where("worker_id", "=", worker)
    .where("released_at", "is", null)
    .where("claim_key", "=", claim_key)
    .where("status", "=", sql.lit("PROCESSING" as const))
    .where("started_at", "is", null)
    .where("claimed_at", ">", after),
);

/** What the oldest queued jobs ask for, each kind once: whom a sweep wakes. */
export const findQueuedHints = statement<
  { limit: number },
  Pick<JobRow, "owner_id" | "assigned_worker_id" | "job_type" | "labels">
>((db, { limit }) =>
  db
    .selectFrom(
      db
        .selectFrom(jobsBy("jobs_queued_all"))
        .select(["owner_id", "assigned_worker_id", "job_type", "labels"])
        .where("status", "=", sql.lit("QUEUED" as const))
        .orderBy("id")
        .limit(limit)
        .as("oldest"),
    )
    .selectAll()
    .distinct(),
);

const columns = sql`id, job_type, spec_id, zone_id, plan_job_id, attempt, timeout_seconds, assigned_worker_id,
  (select config_snapshot from job_snapshots where job_snapshots.job_id = jobs.id) as config_snapshot,
  ${claimedIdentity} as cloud_identity`;

function claim(
  { worker, labels, claim_key, now }: ClaimParams,
  index: RawBuilder<unknown>,
  owner: RawBuilder<unknown>,
) {
  const query = sql`
    update jobs set status = 'PROCESSING', worker_id = ${worker}, claimed_at = ${now}, claim_key = ${claim_key}, attempt = attempt + 1
    where exists (select 1 from workers where workers.id = ${worker} and workers.draining_at is null) and id = (
      select j.id from jobs as j indexed by ${index}
      where j.status = 'QUEUED' and ${owner} (
          j.job_type <> 'DESTROY_WORKER' and j.assigned_worker_id = ${worker}
          or (
            (j.job_type <> 'DESTROY_WORKER' and j.assigned_worker_id is null
              or j.job_type = 'DESTROY_WORKER' and j.assigned_worker_id <> ${worker} and not exists (
                select 1 from jobs as held indexed by jobs_unreleased_worker
                where held.worker_id = j.assigned_worker_id and held.released_at is null))
            and (j.labels = '[]' or not exists (
              select 1 from json_each(j.labels) as wanted
              where wanted.value not in (select value from json_each(${labels}))))))
        and not exists (
          select 1 from jobs as busy indexed by jobs_unreleased_spec
          where busy.spec_id = j.spec_id and busy.worker_id is not null and busy.released_at is null)
        and not exists (select 1 from state_locks where state_locks.spec_id = j.spec_id)
      order by j.id limit 1)
    returning ${columns}`;
  return {
    compileWith: (db: Parameters<typeof query.compile>[0]) => ({
      compile: () => query.compile(db),
    }),
  };
}
