/**
 * The claims of several workers by one statement, on PostgreSQL, where each statement and each
 * commit costs more than what it does to a job.
 *
 * The workers are equal: one owner, the same labels and features. So they may take the same jobs,
 * and the first of those are handed out in the order of the claims. A claim gets none here if
 * `claims.ts` has to decide alone: its worker has changed meanwhile or has jobs of its own, its
 * key has taken a job before, or the queue is short.
 */
import { sql, type Kysely } from "kysely";
import { mayRun } from "../approvals/approvals.ts";
import { claimedIdentity } from "../identities/identities.ts";
import { statement } from "../statement.ts";
import type { Tables } from "../tables.ts";
import {
  claimedColumns,
  classes,
  configurationOf,
  freeHeads,
  lockHeads,
  rank,
  type ClaimRow,
} from "./claims.ts";

export interface ClaimsParams {
  readonly [name: string]: string | number;
  /** A JSON list of `{ "n": 1, "worker": "…", "key": null }`, in the order of `n`. */
  readonly claims: string;
  /** What the workers have, in the stored form. */
  readonly labels: string;
  readonly features: string;
  readonly now: number;
  /** Jobs with smaller ids have waited so long that they are of the first class. */
  readonly lifted: string;
  /** A key that was used after this time stands for the job that it took. */
  readonly after: number;
  /** How many queue heads of each kind are looked at: other claims may have locked some of them. */
  readonly heads: number;
}

export type TakenRow = ClaimRow & { readonly worker_id: string; readonly claim_key: string | null };

export const claimOwnJobs = statement<ClaimsParams & { owner: string }, TakenRow>((db, params) =>
  claimTogether(db, params, params.owner),
);

/** Claims by cloud-hosted workers: any owner's jobs. */
export const claimAnyJobs = statement<ClaimsParams, TakenRow>((db, params) =>
  claimTogether(db, params, undefined),
);

/**
 * Finds jobs like `claim` in claims.ts. `min` keeps the planner from reading the whole queue to see
 * whether a worker has jobs of its own. Two things that follow by themselves when one claim comes
 * after the other are conditions here: of a configuration only one job is taken, and no teardown of
 * a worker that claims.
 */
function claimTogether(
  db: Kysely<Tables>,
  { claims, labels, features, now, lifted, after, heads }: ClaimsParams,
  owner: string | undefined,
) {
  const free = sql`${freeHeads(db, owner)} and h.only_worker`;
  const query = sql`
    with recursive
      claims as materialized (
        select given.worker, given.key, row_number() over (order by given.n) as n
          from json_to_recordset(${claims}::json) as given(n int, worker text, key text)
          where exists (select 1 from workers where workers.id = given.worker and workers.draining_at is null
              and workers.owner_id ${owner === undefined ? sql`is null` : sql`= ${owner}`}
              and workers.labels = ${labels} and workers.features = ${features})
            and (select min(h.first_wanted) from ${free} = given.worker) is null
            and (given.key is null or not exists (
              select 1 from jobs where jobs.worker_id = given.worker and jobs.released_at is null
                and jobs.claim_key = given.key and jobs.started_at is null and jobs.claimed_at > ${after}))),
      has(value) as (
        select value from json_each(${labels}) union all select '+' || value from json_each(${features})),
      kinds(first_wanted, wanted) as (
        select begins.value, (select min(h.wanted) from ${free} = '' and h.first_wanted = begins.value)
          from (select '' as value union all select value from has) as begins
        union all
        select kinds.first_wanted, (
            select min(h.wanted) from ${free} = '' and h.first_wanted = kinds.first_wanted and h.wanted > kinds.wanted)
          from kinds where kinds.wanted is not null),
      found as (
        select oldest.* from kinds cross join ${classes} cross join lateral (
            select ${rank("h", lifted)} || h.job_id as place, h.job_id, h.spec_id, h.target_worker
              from ${free} = '' and h.first_wanted = kinds.first_wanted and h.wanted = kinds.wanted
                and h.queue_class = classes.value and ${mayRun}
              order by h.job_id limit ${heads}) as oldest
          where kinds.wanted is not null
            and not exists (select 1 from json_each(kinds.wanted) as wanted where wanted.value not in (select value from has))),
      locked as materialized (${lockHeads(
        sql`select min(found.place) as place, ${configurationOf("found")} as configuration from found
          where found.target_worker = '' or not exists (
            select 1 from claims where claims.worker = found.target_worker)
          group by ${configurationOf("found")} order by min(found.place) limit ${heads}`,
        sql`(select count(*) from claims)`,
      )}),
      taken as materialized (
        select numbered.job_id, claims.worker, claims.key
          from (select locked.job_id, row_number() over (order by locked.place) as n from locked) as numbered
            join claims on claims.n = numbered.n)
    update jobs set status = 'PROCESSING', identity_used = ${claimedIdentity}, claimed_at = ${now}, attempt = attempt + 1,
        worker_id = taken.worker, claim_key = taken.key
      from taken where jobs.status = 'QUEUED' and jobs.id = taken.job_id
      returning ${claimedColumns}, worker_id, claim_key`;
  return { compile: () => query.compile(db) };
}
