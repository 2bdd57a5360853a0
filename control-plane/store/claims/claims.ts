/**
 * The claim: one atomic statement that takes the first job that a worker may have: the oldest of the
 * first class, else of the next. A job that has waited long is of the first class. It looks at the
 * worker itself, because one that was removed or drained a moment before (in the same commit) would
 * hold its job without end, or longer than its drain permits, and because its labels and features
 * may have changed since its request arrived. Raw SQL, because it must keep its indexes;
 * test/control-plane/store/query-plans.test.ts looks at its plan.
 */
import { sql, type Kysely, type RawBuilder } from "kysely";
import type { JobRow } from "../../domain/job.ts";
import { mayRun } from "../approvals/approvals.ts";
import { claimedIdentity } from "../identities/identities.ts";
import { heldByWorker, jobsBy } from "../indexed.ts";
import { isPostgres } from "../dialect.ts";
import { statement } from "../statement.ts";
import type { Tables } from "../tables.ts";

export interface ClaimParams {
  readonly [name: string]: string | number | null;
  readonly worker: string;
  readonly claim_key: string | null;
  readonly now: number;
  /** Jobs with smaller ids have waited so long that they are of the first class. */
  readonly lifted: string;
}

/** The fields of the job that a runner needs. */
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
  | "features"
> & {
  readonly config_snapshot: string | null;
  /** JSON. */
  readonly cloud_identity: string | null;
  readonly deployed_backend: "managed" | "own" | null;
  /** 0 unless its configuration has an approval rule, or people had to approve it without one. */
  readonly has_approval_rule: number;
};

const deployedBackend = sql<"managed" | "own" | null>`(
  select deployed_backend from specs where specs.id = jobs.spec_id)`;

const hasApprovalRule = sql<number>`(
  select count(approval_when) from specs where specs.id = jobs.spec_id) + (
  select count(*) from job_changes where job_changes.job_id = jobs.id and needs_approval = 1)`;

/**
 * How many configurations a claim looks at on PostgreSQL, where it skips those that concurrent
 * claims have locked, and how many where these were not enough: more than several control planes
 * take at once.
 */
const [few, many] = [16, 256];

export const claimOwnJob = claimOwn(few);
export const claimOwnJobLeft = claimOwn(many);

export const claimAnyJob = claimAny(few);
export const claimAnyJobLeft = claimAny(many);

function claimOwn(most: number) {
  return statement<ClaimParams & { owner: string }, ClaimRow>((db, params) =>
    claim(db, params, most, params.owner),
  );
}

function claimAny(most: number) {
  return statement<ClaimParams, ClaimRow>((db, params) => claim(db, params, most, undefined));
}

/**
 * The queue heads that may be claimed, `h`, of an owner or of all. The condition of the index of all
 * (migrations/postgres/indexes.ts) keeps PostgreSQL from reading the heads of all for one owner.
 */
export function freeHeads(db: Kysely<Tables>, owner: string | undefined): RawBuilder<unknown> {
  if (owner !== undefined)
    return sql`queue_heads as h indexed by queue_heads_own where h.owner_id = ${owner} and h.is_free = 1`;
  const isFree = isPostgres(db) ? sql`h.is_free + 0` : sql`h.is_free`;
  return sql`queue_heads as h indexed by queue_heads_all where ${isFree} = 1`;
}

export const classes = sql`(select 0 as value union all select 1 union all select 2) as classes`;

/** The class of a queue head, of which lower ones go first. Ids tell since when a job waits. */
export const rank = (head: string, lifted: string): RawBuilder<number> =>
  sql`case when ${sql.ref(`${head}.job_id`)} < ${lifted} then 0 else ${sql.ref(`${head}.queue_class`)} end`;

/** By which the heads of one configuration are one. A job without a configuration stands alone. */
export const configurationOf = (head: string): RawBuilder<string> =>
  sql`coalesce(nullif(${sql.ref(`${head}.spec_id`)}, ''), ${sql.ref(`${head}.job_id`)})`;

/**
 * Locks the first `most` queue heads of `found` that no concurrent claim has, in the order of
 * `found`. It locks a configuration before its head, and never waits for either: of two claims
 * that held heads of one configuration, each would wait for the other's to mark them as not free.
 * What a claim that is rolled back has locked, others find by their next sweep. The head tells
 * whether another claim took a job of the configuration since this one looked; `> 0` is the
 * condition of no index.
 */
export const lockHeads = (found: RawBuilder<unknown>, most: RawBuilder<unknown>) =>
  sql`select head.job_id, found.place
    from (${found}) as found cross join lateral (
      select queue_heads.job_id from queue_heads
        where queue_heads.job_id = substr(found.place, 2) and queue_heads.is_free > 0
          and pg_try_advisory_xact_lock(${sql.lit(claimsLock)}, hashtext(found.configuration))
        for update skip locked) as head
    limit ${most}`;

/** The first key of the advisory locks of configurations: arbitrary, and never changed. */
const claimsLock = 1_464_816_898;

/**
 * The job that an earlier claim with the same key got and that was not started yet
 * (docs/decisions.md, "Idempotency key").
 */
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
      "features",
      "config_snapshot",
      // A server of 0.1.0 did not record the identity of a claim.
      sql<string | null>`coalesce(identity_used, ${claimedIdentity})`.as("cloud_identity"),
      deployedBackend.as("deployed_backend"),
      hasApprovalRule.as("has_approval_rule"),
    ])
    .where("worker_id", "=", worker)
    .where("released_at", "is", null)
    .where("claim_key", "=", claim_key)
    .where("status", "=", sql.lit("PROCESSING" as const))
    .where("started_at", "is", null)
    .where("claimed_at", ">", after),
);

/** The requirements of the oldest queued jobs, each kind once, to wake workers that match. */
export const findQueuedHints = statement<
  { limit: number },
  Pick<JobRow, "owner_id" | "assigned_worker_id" | "job_type" | "labels" | "features">
>((db, { limit }) =>
  db
    .selectFrom(
      db
        .selectFrom(jobsBy("jobs_queued_all"))
        .select(["owner_id", "assigned_worker_id", "job_type", "labels", "features"])
        .where("status", "=", sql.lit("QUEUED" as const))
        .where("unapproved", "=", 0)
        .orderBy("id")
        .limit(limit)
        .as("oldest"),
    )
    .selectAll()
    .distinct(),
);

/** The columns of `jobs` that a claim returns. */
export const claimedColumns = sql`id, job_type, spec_id, zone_id, plan_job_id, attempt, timeout_seconds, assigned_worker_id, features,
  (select config_snapshot from job_snapshots where job_snapshots.job_id = jobs.id) as config_snapshot,
  identity_used as cloud_identity, ${deployedBackend} as deployed_backend,
  ${hasApprovalRule} as has_approval_rule`;

/**
 * Looks only at `queue_heads`: the oldest queued job of each kind, as far as its configuration is
 * free. Of kinds of one class that want the same of a worker the oldest is the first of an index, so jobs that
 * no worker may take cost nothing: those of busy or locked configurations are not free, those for
 * other workers and with other labels or features are not looked at. What else a worker must have
 * belongs in `wanted`. Jobs that wait for approvals have no heads. Their approvals are counted here
 * again, so whatever a head says, no job is claimed against the rule of this moment.
 */
function claim(
  db: Kysely<Tables>,
  { worker, claim_key, now, lifted }: ClaimParams,
  most: number,
  owner: string | undefined,
) {
  const heads = sql`${freeHeads(db, owner)} and h.only_worker`;
  const first = sql`from ${heads} = kinds.only_worker and h.first_wanted = kinds.first_wanted and h.wanted = kinds.wanted
              and h.queue_class = classes.value and ${isOther(db, worker)} and ${mayRun} order by h.job_id limit`;
  const isTakeable = sql`kinds.wanted is not null
            and not exists (select 1 from json_each(kinds.wanted) as wanted where wanted.value not in (select value from has))`;
  // SQLite has one writer. On PostgreSQL claims run beside each other.
  const oldest = isPostgres(db)
    ? sql`select locked.job_id from (${lockHeads(
        sql`select min(found.place) as place, ${configurationOf("found")} as configuration
          from kinds cross join ${classes} cross join lateral (
              select ${rank("h", lifted)} || h.job_id as place, h.job_id, h.spec_id ${first} ${sql.lit(most)}) as found
          where ${isTakeable} group by ${configurationOf("found")} order by min(found.place) limit ${sql.lit(most)}`,
        sql.lit(1),
      )}) as locked`
    : sql`select substr(min(place), 2) from (
          select (select ${rank("h", lifted)} || h.job_id ${first} 1) as place
            from kinds cross join ${classes} where ${isTakeable}) as oldest`;
  // Meanwhile another claim may have taken it.
  const isWaiting = isPostgres(db) ? sql`status = 'QUEUED' and` : sql``;
  const query = sql`
    update jobs set status = 'PROCESSING', identity_used = ${claimedIdentity}, worker_id = ${worker}, claimed_at = ${now}, claim_key = ${claim_key}, attempt = attempt + 1
    where exists (select 1 from workers where workers.id = ${worker} and workers.draining_at is null) and ${isWaiting} id = (
      with recursive
        self(labels, features) as (select labels, features from workers where workers.id = ${worker}),
        has(value) as (
          select value from self, json_each(self.labels) union all select '+' || value from self, json_each(self.features)),
        -- Each different list of wanted things that begins with one that the worker has: from one to the next by the index.
        kinds(only_worker, first_wanted, wanted) as (
          select only_worker, value, (select min(h.wanted) from ${heads} = whom.only_worker and h.first_wanted = begins.value)
            from (select '' as only_worker union all select ${worker}) as whom, (select '' as value union all select value from has) as begins
          union all
          select kinds.only_worker, kinds.first_wanted, (
              select min(h.wanted) from ${heads} = kinds.only_worker and h.first_wanted = kinds.first_wanted and h.wanted > kinds.wanted)
            from kinds where kinds.wanted is not null)
      ${oldest})
    returning ${claimedColumns}`;
  return { compile: () => query.compile(db) };
}

/**
 * How many jobs of an owner any worker could claim now, one of a configuration, by what it must have; of a worker with these
 * labels only (a JSON list), unless they are "". By the rule of a claim: free heads that may run.
 */
export const countClaimable = statement<
  { owner: string; labels: string },
  { wanted: string; count: number }
>((db, { owner, labels }) => {
  const query = sql`select wanted, count from (
      select h.wanted as wanted, count(distinct ${configurationOf("h")}) as count
        from ${freeHeads(db, owner)} and h.only_worker = '' and ${mayRun}
        group by h.first_wanted, h.wanted) as kinds
    where ${labels} = '' or not exists (
      select 1 from json_each(kinds.wanted) as needed
        where substr(needed.value, 1, 1) <> '+' and needed.value not in (select value from json_each(${labels})))`;
  return { compile: () => query.compile(db) };
});

/**
 * Whether a queue head is no teardown of the worker itself. Nearly every head has no target, from
 * which PostgreSQL would conclude that nearly none differs from the worker, and read and sort the
 * whole queue; it cannot estimate the comparison of a cast.
 */
const isOther = (db: Kysely<Tables>, worker: string) =>
  isPostgres(db) ? sql`(h.target_worker = ${worker})::int < 1` : sql`h.target_worker <> ${worker}`;

/** A job that is free for a worker of this owner, if any: read by a poll before it uses the writer. */
export const findOwnFree = statement<{ owner: string }, { job_id: string }>((db, { owner }) =>
  findFree(db, owner),
);

/** For a worker that serves every owner. */
export const findAnyFree = statement<Record<string, never>, { job_id: string }>((db) =>
  findFree(db, undefined),
);

/** In the order of the index, because PostgreSQL would rather read a table to its first match. */
function findFree(db: Kysely<Tables>, owner: string | undefined) {
  const query = sql`select h.job_id from ${freeHeads(db, owner)}
    order by h.only_worker, h.first_wanted, h.wanted, h.queue_class, h.job_id limit 1`;
  return { compile: () => query.compile(db) };
}
