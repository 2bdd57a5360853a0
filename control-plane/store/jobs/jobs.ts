/** SQL of jobs. What the state changes mean stands in domain/job.ts. */
import { sql } from "kysely";
import type { JobRow, JobState } from "../../domain/job.ts";
import type { Queries } from "../db.ts";
import { forUpdate } from "../dialect.ts";
import { heldByWorker, jobsBy, queueHeadsBy } from "../indexed.ts";
import { statement } from "../statement.ts";
import type { Row, StoredJson } from "../tables.ts";

/** One job by id, of any owner: for reports of the runner that holds it. */
export const findJob = statement<{ id: string }, JobRow>((db, { id }) =>
  db.selectFrom("jobs").selectAll().where("id", "=", id),
);

const briefColumns = [
  "id",
  "owner_id",
  "worker_id",
  "attempt",
  "status",
  "started_at",
  "log_pruned_at",
] as const;
type BriefJob = Pick<JobRow, (typeof briefColumns)[number]>;

/** As much of a job as a log post needs: a few columns cost a third of the whole row. */
export const findJobBriefly = statement<{ id: string }, BriefJob>((db, { id }) =>
  db.selectFrom("jobs").select(briefColumns).where("id", "=", id),
);

/** Like `findJobBriefly`, and locks the job against other shared changes until the end of this one. */
export const lockJobBriefly = statement<{ id: string }, BriefJob>((db, { id }) =>
  forUpdate(db, db.selectFrom("jobs").select(briefColumns).where("id", "=", id)),
);

export const findOwnJob = statement<{ id: string; owner: string }, JobRow>((db, { id, owner }) =>
  db.selectFrom("jobs").selectAll().where("id", "=", id).where("owner_id", "=", owner),
);

/** The snapshot of a job, sealed, as JSON. */
export const findSnapshot = statement<{ id: string }, { config_snapshot: StoredJson }>(
  (db, { id }) => db.selectFrom("job_snapshots").select("config_snapshot").where("job_id", "=", id),
);

/** The snapshot of a job, and the change that it runs, if it is of a connection. */
export type ViewedRow = { readonly config_snapshot: StoredJson } & {
  readonly [Name in (typeof viewedChange)[number]]: Row<"job_changes">[Name] | null;
};
const viewedChange = [
  "change",
  "withheld",
  "merged_request_id",
  "settings_hash",
  "posted_status",
  "post_error",
  "post_at",
] as const;

export const findViewed = statement<{ id: string }, ViewedRow>((db, { id }) =>
  db
    .selectFrom("job_snapshots")
    .leftJoin("job_changes", "job_changes.job_id", "job_snapshots.job_id")
    .select(["config_snapshot", ...viewedChange])
    .where("job_snapshots.job_id", "=", id),
);

export const findHeldJobs = statement<{ worker: string }, JobRow>((db, { worker }) =>
  db
    .selectFrom(heldByWorker)
    .selectAll()
    .where("worker_id", "=", worker)
    .where("released_at", "is", null),
);

export const findHeldJobIds = statement<{ worker: string }, { id: string }>((db, { worker }) =>
  db
    .selectFrom(heldByWorker)
    .select("id")
    .where("worker_id", "=", worker)
    .where("released_at", "is", null)
    .orderBy("id"),
);

/** How many jobs each worker holds, of the jobs of one owner. */
export const countHeldOfOwner = statement<{ owner: string }, { worker_id: string; count: number }>(
  (db, { owner }) =>
    db
      .selectFrom(jobsBy("jobs_held"))
      .select((eb) => [
        eb.ref("worker_id").$notNull().as("worker_id"),
        eb.fn.countAll<number>().as("count"),
      ])
      .where("owner_id", "=", owner)
      .where("worker_id", "is not", null)
      .where("released_at", "is", null)
      .groupBy("worker_id"),
);

export const findSomeHeldJobs = statement<{ worker: string; limit: number }, JobRow>(
  (db, { worker, limit }) =>
    db
      .selectFrom(heldByWorker)
      .selectAll()
      .where("worker_id", "=", worker)
      .where("released_at", "is", null)
      .limit(limit),
);

const saveState = statement<Pick<JobRow, "id" | Mutable>>((db, job) =>
  db
    .updateTable("jobs")
    .set({
      status: job.status,
      worker_id: job.worker_id,
      claim_key: job.claim_key,
      claimed_at: job.claimed_at,
      started_at: job.started_at,
      cancelled_at: job.cancelled_at,
      cancelled_by: job.cancelled_by,
      ended_at: job.ended_at,
      released_at: job.released_at,
      omitted_at: job.omitted_at,
      presumed_lost_at: job.presumed_lost_at,
      outcome_unknown: job.outcome_unknown,
      spec_status_before: job.spec_status_before,
      error_message: job.error_message,
      failure: job.failure,
      execution_metadata: job.execution_metadata,
      failed_checks: job.failed_checks,
      last_seq: job.last_seq,
    })
    .where("id", "=", job.id),
);

/** What state changes may change, and what the spec was before. */
type Mutable = keyof JobState | "spec_status_before";

export const saveJob = (tx: Queries, job: JobRow): Promise<void> => tx.run(saveState, job);

export async function insertJob(
  tx: Queries,
  job: JobRow,
  snapshot: Omit<Row<"job_snapshots">, "job_id"> | null,
): Promise<void> {
  await tx.sql.insertInto("jobs").values(job).execute();
  if (snapshot !== null)
    await tx.sql
      .insertInto("job_snapshots")
      .values({ job_id: job.id, ...snapshot })
      .execute();
}

/**
 * Whether a job of the spec that was claimed later has started: then this job's end no longer moves
 * the spec. Claims of a spec follow one another; ids need not, because a job may have waited for
 * its worker while a newer one ran.
 */
export const findLaterStarted = statement<
  { spec: string; id: string; claimed_at: number },
  { id: string }
>((db, { spec, id, claimed_at }) =>
  db
    .selectFrom(jobsBy("jobs_spec_started"))
    .select("id")
    .where("spec_id", "=", spec)
    .where("id", "<>", id)
    .where("claimed_at", ">", claimed_at)
    .where("started_at", "is not", null)
    .where("job_type", "<>", sql.lit("PLAN" as const))
    .limit(1),
);

/** The last DEPLOY or DESTROY of a spec that had started when this job was claimed. */
export const findStartedBefore = statement<
  { spec: string; claimed_at: number },
  Pick<JobRow, "id" | "status">
>((db, { spec, claimed_at }) =>
  db
    .selectFrom(jobsBy("jobs_spec_started"))
    .select(["id", "status"])
    .where("spec_id", "=", spec)
    .where("claimed_at", "<", claimed_at)
    .where("started_at", "is not", null)
    .where("job_type", "<>", sql.lit("PLAN" as const))
    .orderBy("claimed_at", "desc")
    .limit(1),
);

/** The last DEPLOY or DESTROY of a spec that succeeded. */
export const findLastDeployment = statement<
  { spec: string },
  Pick<JobRow, "id" | "job_type" | "destroys" | "created_by" | "ended_at">
>((db, { spec }) =>
  db
    .selectFrom(jobsBy("jobs_deployed"))
    .select(["id", "job_type", "destroys", "created_by", "ended_at"])
    .where("spec_id", "=", spec)
    .where("status", "=", sql.lit("SUCCESS" as const))
    .where("job_type", "<>", sql.lit("PLAN" as const))
    .where("job_type", "<>", sql.lit("DESTROY_WORKER" as const))
    .orderBy("claimed_at", "desc")
    .limit(1),
);

export const findCreatedBy = statement<{ id: string }, Pick<JobRow, "created_by">>((db, { id }) =>
  db.selectFrom("jobs").select("created_by").where("id", "=", id),
);

export type FailedJobRow = Pick<
  JobRow,
  "id" | "job_type" | "status" | "error_message" | "started_at" | "ended_at"
>;

export const findFailedJob = statement<{ id: string }, FailedJobRow>((db, { id }) =>
  db
    .selectFrom("jobs")
    .select(["id", "job_type", "status", "error_message", "started_at", "ended_at"])
    .where("id", "=", id),
);

/** Of a PLAN: whether an approval rule for destructive plans covers it. */
export const setDestructive = statement<{ plan: string; destructive: 0 | 1 }>(
  (db, { plan, destructive }) =>
    db
      .updateTable("jobs")
      .set({ destructive })
      .where("id", "=", plan)
      .where("job_type", "=", sql.lit("PLAN" as const)),
);

/** A DEPLOY that uses the plan: it names it, and has started or may still start. */
export const findUseOfPlan = statement<{ plan: string }, { id: string }>((db, { plan }) =>
  db
    .selectFrom(jobsBy("jobs_plan"))
    .select("id")
    .where("plan_job_id", "=", plan)
    .where((where) =>
      where.or([where("started_at", "is not", null), where("ended_at", "is", null)]),
    )
    .limit(1),
);

/** The first queued job of a spec: it may run once the one before it is released. */
export const findNextOfSpec = statement<{ spec: string }, JobRow>((db, { spec }) =>
  db
    .selectFrom("jobs")
    .selectAll()
    .where("id", "=", (head) =>
      head
        .selectFrom("queue_heads")
        .select("job_id as id")
        .where("spec_id", "=", spec)
        .orderBy("queue_class")
        .orderBy("job_id")
        .limit(1),
    ),
);

/** Jobs whose cancel was requested before `before` and not acknowledged. */
export const findUnansweredCancels = statement<{ before: number }, JobRow>((db, { before }) =>
  db
    .selectFrom(jobsBy("jobs_cancelled"))
    .selectAll()
    .where("worker_id", "is not", null)
    .where("released_at", "is", null)
    .where("status", "=", sql.lit("CANCELLED" as const))
    .where("cancelled_at", "<=", before),
);

/** What keeps a queued job from being claimed, apart from the workers. */
export const findObstacles = statement<
  { spec: string | null; target: string | null },
  {
    busy_job: string | null;
    lock_id: string | null;
    lock_job: string | null;
    is_target_held: number;
  }
>((db, { spec, target }) => {
  const query = sql`select
    (select id from jobs indexed by jobs_unreleased_spec
      where spec_id = ${spec} and worker_id is not null and released_at is null) as busy_job,
    (select lock_id from state_locks where spec_id = ${spec}) as lock_id,
    (select job_id from state_locks where spec_id = ${spec}) as lock_job,
    exists (select 1 from jobs indexed by jobs_unreleased_worker
      where worker_id = ${target} and released_at is null) as is_target_held`;
  return { compile: () => query.compile(db) };
});

/** What a heartbeat needs of the jobs that its worker holds. */
export const findHeldBriefly = statement<
  { worker: string },
  Pick<JobRow, "id" | "status" | "started_at" | "omitted_at">
>((db, { worker }) =>
  db
    .selectFrom(heldByWorker)
    .select(["id", "status", "started_at", "omitted_at"])
    .where("worker_id", "=", worker)
    .where("released_at", "is", null),
);

/** Notes since when a worker's heartbeats leave a job out; null: they list it. */
export const setOmitted = statement<{ id: string; omitted_at: number | null }>(
  (db, { id, omitted_at }) => db.updateTable("jobs").set({ omitted_at }).where("id", "=", id),
);

/** `period` in milliseconds. A worker that fell silent meanwhile has said nothing since. */
export const findOmitted = statement<{ period: number }, JobRow>((db, { period }) =>
  db
    .selectFrom(jobsBy("jobs_omitted"))
    .innerJoin("workers", "workers.id", "jobs.worker_id")
    .selectAll("jobs")
    .where("jobs.released_at", "is", null)
    .where("jobs.omitted_at", "is not", null)
    .where("workers.active_job_ids", "is not", null)
    .where(sql<number>`workers.last_heartbeat_at - jobs.omitted_at`, ">=", period),
);

/** DESTROY_WORKER jobs that wait for a worker to hold no job: the oldest of each kind. */
export const findQueuedTeardowns = statement<{ worker: string }, JobRow>((db, { worker }) =>
  db
    .selectFrom(queueHeadsBy("queue_heads_target"))
    .innerJoin("jobs", "jobs.id", "queue_heads.job_id")
    .selectAll("jobs")
    .where("queue_heads.target_worker", "=", worker)
    .where("queue_heads.target_worker", "<>", sql.lit("")),
);

/** A DEPLOY of this plan that the worker holds: a runner that applies a plan may read it. */
export const findHeldUseOfPlan = statement<{ plan: string; worker: string }, { id: string }>(
  (db, { plan, worker }) =>
    db
      .selectFrom(heldByWorker)
      .select("id")
      .where("plan_job_id", "=", plan)
      .where("worker_id", "=", worker)
      .where("released_at", "is", null),
);
