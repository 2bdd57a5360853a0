/** What hosts are to be told of jobs and pull requests. */
import { sql } from "kysely";
import type { JobStatus, JobType } from "../../../protocol/jobs.ts";
import type { Queries } from "../db.ts";
import { jobChangesBy, pullRequestsBy } from "../indexed.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

export type PullRequestRow = Row<"pull_requests">;
export type JobChangeRow = Row<"job_changes">;

/** Rows of a host that is left alone wait, so that they do not keep those of others waiting. */
const notQuiet = (table: "job_changes" | "pull_requests", now: number) => sql<boolean>`not exists (
  select 1 from connections
  where connections.id = ${sql.ref(`${table}.connection_id`)} and connections.quiet_until > ${now})`;

/** The rows that are due, oldest first. */
export const findDueJobChanges = statement<{ now: number; limit: number }, JobChangeRow>(
  (db, { now, limit }) =>
    db
      .selectFrom(jobChangesBy("job_changes_post"))
      .selectAll()
      .where("post_at", "is not", null)
      .where("post_at", "<=", now)
      .where(notQuiet("job_changes", now))
      .orderBy("post_at")
      .limit(limit),
);

export const findDuePullRequests = statement<{ now: number; limit: number }, PullRequestRow>(
  (db, { now, limit }) =>
    db
      .selectFrom(pullRequestsBy("pull_requests_post"))
      .selectAll()
      .where("post_at", "is not", null)
      .where("post_at", "<=", now)
      .where(notQuiet("pull_requests", now))
      .orderBy("post_at")
      .limit(limit),
);

type Change<T> = Partial<T> & { readonly post_at: number | null };

/** Changes the row if nothing has changed since it was read; returns whether it did. */
export async function changeJobChange(
  { sql: db }: Queries,
  { job_id, post_at }: Pick<JobChangeRow, "job_id" | "post_at">,
  change: Change<JobChangeRow>,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("job_changes")
    .set(change)
    .where("job_id", "=", job_id)
    .where("post_at", "=", post_at)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export async function changePullRequest(
  { sql: db }: Queries,
  { id, post_at }: Pick<PullRequestRow, "id" | "post_at">,
  change: Change<PullRequestRow>,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("pull_requests")
    .set(change)
    .where("id", "=", id)
    .where("post_at", "=", post_at)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** What was posted, without touching when to post again. */
export async function keepPosted(
  { sql: db }: Queries,
  id: string,
  posted: Pick<PullRequestRow, "comment_id">,
): Promise<void> {
  await db.updateTable("pull_requests").set(posted).where("id", "=", id).execute();
}

/** A job of a connection with what its status says. */
export interface PostedJob {
  readonly job_id: string;
  readonly owner_id: string;
  readonly job_type: JobType;
  readonly status: JobStatus;
  readonly plan_job_id: string | null;
  readonly started_at: number | null;
  readonly error_message: string | null;
  readonly failed_checks: number | null;
  readonly spec_id: string | null;
  readonly configuration: string | null;
  readonly commit_id: string;
  readonly merged_request_id: string | null;
  readonly settings_hash: string;
  readonly withheld: string;
  /** `PlanCounts`; null while there is no plan. */
  readonly counts: string | null;
  readonly comment: "changes" | "always" | "off" | null;
}

const postedJobs = sql`select job_changes.job_id, jobs.owner_id, jobs.job_type, jobs.status, jobs.plan_job_id, jobs.started_at,
    jobs.error_message, jobs.failed_checks, job_changes.spec_id, specs.name as configuration, job_changes.commit_id,
    job_changes.merged_request_id, job_changes.settings_hash, job_changes.withheld,
    (select json_extract(plan_summary, '$.counts') from plan_summaries
      where plan_summaries.job_id = coalesce(jobs.plan_job_id, jobs.id)) as counts,
    (select json_extract(follows.settings, '$.comment') from follows where follows.spec_id = job_changes.spec_id)
      as comment
  from job_changes join jobs on jobs.id = job_changes.job_id
  left join specs on specs.id = job_changes.spec_id and specs.deleted_owner_id is null`;

/** The newest job of a configuration for a commit. */
export async function findNewestFor(
  { sql: db }: Queries,
  { spec, commit }: { readonly spec: string; readonly commit: string },
): Promise<PostedJob | undefined> {
  const { rows } = await sql<PostedJob>`${postedJobs} where job_changes.spec_id = ${spec}
    and job_changes.commit_id = ${commit} order by job_changes.job_id desc limit 1`.execute(db);
  return rows[0];
}

/** The jobs of a pull request for a commit, newest first. */
export async function findJobsOfPullRequest(
  { sql: db }: Queries,
  { id, commit, limit }: { readonly id: string; readonly commit: string; readonly limit: number },
): Promise<PostedJob[]> {
  const { rows } = await sql<PostedJob>`${postedJobs} where job_changes.pull_request_id = ${id}
    and job_changes.commit_id = ${commit} order by job_changes.job_id desc limit ${limit}`.execute(
    db,
  );
  return rows;
}

/** The jobs of what a pull request was merged as, newest first. */
export async function findJobsOfMerge(
  { sql: db }: Queries,
  { id, limit }: { readonly id: string; readonly limit: number },
): Promise<PostedJob[]> {
  const { rows } = await sql<PostedJob>`${postedJobs} where job_changes.merged_request_id = ${id}
    order by job_changes.job_id desc limit ${limit}`.execute(db);
  return rows;
}

/** The repository of a job's change, as it is called now; undefined: nothing follows it any more. */
export const findRepositoryOf = statement<{ job: string }, { id: string; full_name: string }>(
  (db, { job }) => {
    const query = sql`select coalesce(pull_requests.repository_id, follows.repository_id) as id,
        coalesce(pull_requests.repository, follows.repository) as full_name
      from job_changes left join pull_requests on pull_requests.id = job_changes.pull_request_id
      left join follows on follows.spec_id = job_changes.spec_id
      where job_changes.job_id = ${job} and coalesce(pull_requests.id, follows.spec_id) is not null`;
    return { compile: () => query.compile(db) };
  },
);

export const findPullRequest = statement<{ id: string; owner: string }, PullRequestRow>(
  (db, { id, owner }) =>
    db.selectFrom("pull_requests").selectAll().where("id", "=", id).where("owner_id", "=", owner),
);

export interface PullRequestFilter {
  readonly owner: string;
  readonly spec?: string | undefined;
  readonly repository?: string | undefined;
  readonly state?: PullRequestRow["state"] | undefined;
  readonly before?: string | undefined;
  readonly limit: number;
}

/** The newest first. */
export function listPullRequests(
  { sql: db }: Queries,
  { owner, spec, repository, state, before, limit }: PullRequestFilter,
): Promise<PullRequestRow[]> {
  let query = db
    .selectFrom(pullRequestsBy("pull_requests_owner"))
    .selectAll()
    .where("owner_id", "=", owner);
  if (repository !== undefined) query = query.where("repository", "=", repository);
  if (state !== undefined) query = query.where("state", "=", state);
  if (spec !== undefined)
    query = query.where(({ exists, selectFrom }) =>
      exists(
        selectFrom("follows")
          .select("spec_id")
          .where("follows.spec_id", "=", spec)
          .whereRef("follows.connection_id", "=", sql.ref("pull_requests.connection_id"))
          .whereRef("follows.repository_id", "=", sql.ref("pull_requests.repository_id"))
          .whereRef("follows.branch", "=", sql.ref("pull_requests.base_branch")),
      ),
    );
  if (before !== undefined) query = query.where("id", "<", before);
  return query.orderBy("id", "desc").limit(limit).execute();
}
