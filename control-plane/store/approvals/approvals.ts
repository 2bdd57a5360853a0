import { sql, type RawBuilder } from "kysely";
import type { ApprovalColumns, ApprovalRow } from "../../domain/approvals.ts";
import type { JobRow } from "../../domain/job.ts";
import { rolesWith } from "../../domain/roles.ts";
import type { Queries } from "../db.ts";
import { statement } from "../statement.ts";

/** The users whose account at the host has opened the pull request of a job, or pushed its head. */
const authorsAtHost = (job: RawBuilder<unknown>): RawBuilder<unknown> => sql`job_changes as run
  join pull_requests on pull_requests.id = coalesce(run.pull_request_id, run.merged_request_id)
  join connections on connections.id = pull_requests.connection_id
  join accounts on accounts.provider = case connections.kind when 'github_app' then 'github' else connections.kind end
    and connections.base_url = 'https://' || accounts.host
    and accounts.subject in (pull_requests.author_id, pull_requests.pusher_id)
  where run.job_id = ${job}`;

/** Whether a user created a job with this alias or its plan, or is an author at the host. */
export const isAuthor = (job: string, user: unknown): RawBuilder<unknown> => sql`(
  coalesce(${user} in (${sql.ref(`${job}.creator_id`)}, (
    select planned.creator_id from jobs as planned where planned.id = ${sql.ref(`${job}.plan_job_id`)})), false)
  or exists (select 1 from ${authorsAtHost(sql.ref(`${job}.id`))} and accounts.user_id = ${user}))`;

/** Whether the roles of a row, such as one of `memberships`, permit to approve a job. */
export const mayApprove = (whom: string, job: string): RawBuilder<unknown> => {
  // Where the configuration is now.
  const zone = sql`(select place.zone_id from specs as place where place.id = ${sql.ref(`${job}.spec_id`)})`;
  const roles = rolesWith("approve");
  // The form of `zonesText`.
  const inZone = roles.map(
    (role) =>
      sql`instr(${sql.ref(`${whom}.zones`)}, '"' || coalesce(${zone}, '') || ${sql.lit(`":"${role}"`)}) > 0`,
  );
  return sql`(${sql.ref(`${whom}.role`)} in (${sql.join(roles.map((name) => sql.lit(name)))})
    or ${sql.join(inZone, sql` or `)})`;
};

/** Whether the rule of `specs` covers a job; else it has none, or one for other jobs. */
const isRuled = (job: string): RawBuilder<unknown> => sql`(coalesce(specs.approval_when = 'always'
  or (specs.approval_when is not null and ${sql.ref(`${job}.destructive`)} = 1), false))`;

/** How many must approve a job that is covered. */
const needed = (job: string): RawBuilder<unknown> => sql`(
  case when ${isRuled(job)} then specs.approval_count else 1 end)`;

/** Whether a user may approve a job, as far as its authors are concerned. */
const passesAuthorRule = (job: string, user: unknown): RawBuilder<unknown> => sql`(
  specs.approval_by_author = 1 or not ${isRuled(job)} or not ${isAuthor(job, user)})`;

/** The plan of a pull request whose approvals count for a job too. */
const approvedPlan = (job: string): RawBuilder<unknown> => sql`(
  select approved_job_id from job_changes as run where run.job_id = ${sql.ref(`${job}.id`)})`;

/** How many people have approved a job, of those who may by the rule of `specs` and their role. */
const countApprovals = (job: string): RawBuilder<unknown> => sql`(
  select count(*) from job_approvals as vote
  where ${counts(job)})`;

/** Whether a `vote` is an approval that counts for a job of `specs`. */
const counts = (
  job: string,
): RawBuilder<unknown> => sql`(vote.job_id in (${sql.ref(`${job}.id`)}, ${approvedPlan(job)}) and vote.decision = 'approve'
    and (vote.job_id = ${sql.ref(`${job}.id`)} or not exists (
      select 1 from job_approvals as own where own.job_id = ${sql.ref(`${job}.id`)} and own.user_id = vote.user_id))
    and (vote.user_id = ${sql.ref(`${job}.owner_id`)} or exists (
      select 1 from memberships where memberships.space_id = ${sql.ref(`${job}.owner_id`)}
        and memberships.user_id = vote.user_id and ${mayApprove("memberships", job)}))
    and ${passesAuthorRule(job, sql`vote.user_id`)})`;

/** The people whose approvals of a job count. */
export const findCountedApprovers = statement<
  { job: string },
  { readonly id: string; readonly email: string }
>((db, { job }) => {
  const query = sql`select users.id, users.email from jobs as gated join specs on specs.id = gated.spec_id
    join job_approvals as vote on ${counts("gated")}
    join users on users.id = vote.user_id
    where gated.id = ${job}
    group by users.id, users.email order by users.email`;
  return { compile: () => query.compile(db) };
});

/** Whether people must approve a job of `specs`: by its rule, or because another plan was reviewed. */
const isCovered = (job: string): RawBuilder<unknown> => sql`(
  ${sql.ref(`${job}.job_type`)} <> 'PLAN' and (${isRuled(job)} or exists (
    select 1 from job_changes as run where run.job_id = ${sql.ref(`${job}.id`)} and run.needs_approval = 1)))`;

/** Without a plan there is nothing to approve. */
const isUnapproved = (job: string): RawBuilder<unknown> => sql`(
  ${isCovered(job)} and (
    ${sql.ref(`${job}.plan_job_id`)} is null or ${needed(job)} > ${countApprovals(job)}))`;

/**
 * Whether the approvals of the job of a queue head (`h`), counted now, permit it to run. A value,
 * not `exists`, which PostgreSQL turns into a join, for which it then reads all jobs ever.
 */
export const mayRun = sql`(
  select 1 from specs cross join jobs as gated where specs.id = h.spec_id and specs.approval_when is not null
    and gated.id = h.job_id and ${isUnapproved("gated")} limit 1) is null`;

const isWaiting = sql<0 | 1>`(case when exists (
  select 1 from specs where specs.id = jobs.spec_id and ${isUnapproved("jobs")}) then 1 else 0 end)`;

/** A queued job that now waits for approvals, or no longer does. */
export type RefreshedJob = Pick<
  JobRow,
  "id" | "owner_id" | "assigned_worker_id" | "job_type" | "labels" | "features" | "unapproved"
>;
const queuedColumns = sql`id, owner_id, assigned_worker_id, job_type, labels, features, unapproved`;

/** After a vote or a change of the rule. Returns the jobs that changed. */
export const refreshUnapproved = statement<{ spec: string; owner: string }, RefreshedJob>(
  (db, { spec, owner }) => {
    const query = sql`update jobs set unapproved = 1 - unapproved
      where id in (
        select id from jobs indexed by jobs_queued_kind
          where status = 'QUEUED' and unapproved = 0 and spec_id = ${spec}
        union all select id from jobs indexed by jobs_unapproved
          where status = 'QUEUED' and unapproved = 1 and owner_id = ${owner} and spec_id = ${spec})
        and unapproved <> ${isWaiting}
      returning ${queuedColumns}`;
    return { compile: () => query.compile(db) };
  },
);

/** Refreshes the jobs on which a member whose role changed has voted. */
export const refreshVotedOn = statement<{ owner: string; user: string }, RefreshedJob>(
  (db, { owner, user }) => {
    const query = sql`update jobs set unapproved = 1 - unapproved
      where id in (
        select voted.id from jobs as voted indexed by jobs_queued
          where voted.status = 'QUEUED' and voted.owner_id = ${owner} and exists (
            select 1 from job_approvals as vote
              where vote.job_id in (voted.id, ${approvedPlan("voted")}) and vote.user_id = ${user}))
        and unapproved <> ${isWaiting}
      returning ${queuedColumns}`;
    return { compile: () => query.compile(db) };
  },
);

/** What a job that people must approve still needs. */
export interface ApprovalNeeds extends ApprovalColumns {
  readonly missing: number;
  readonly plan_job_id: string | null;
  readonly role_arn: string | null;
  /** The addresses of those who created the DEPLOY and the PLAN. */
  readonly creator: string | null;
  readonly planner: string | null;
}

/** Without a rule that covers the job, one approval is needed, of a deployer. */
const needs = (covered: RawBuilder<unknown>) =>
  statement<{ job: string }, ApprovalNeeds>((db, { job }) => {
    const query = sql`select coalesce(gated.plan_job_id, case when gated.job_type = 'PLAN' then gated.id end) as plan_job_id,
      case when ${isRuled("gated")} then specs.approval_when else 'always' end as approval_when,
      ${needed("gated")} as approval_count,
      case when ${isRuled("gated")} then specs.approval_by_author else 1 end as approval_by_author,
      ${needed("gated")} - ${countApprovals("gated")} as missing,
      (select nullif(role_arn, '') from cloud_identities where cloud_identities.id = gated.cloud_identity_id) as role_arn,
      (select email from users where users.id = gated.creator_id) as creator,
      (select users.email from jobs as planned join users on users.id = planned.creator_id
        where planned.id = gated.plan_job_id) as planner
    from jobs as gated join specs on specs.id = gated.spec_id
    where gated.id = ${job} and ${covered}`;
    return { compile: () => query.compile(db) };
  });

/** Undefined unless people must approve the job. */
export const findApprovalNeeds = needs(isCovered("gated"));

/** The same of the PLAN of a pull request, whose approvals count for the DEPLOY after the merge. */
export const findReviewNeeds = needs(sql`gated.job_type = 'PLAN' and ${isRuled("gated")}`);

/** The addresses of those whose account at the host has opened the pull request or pushed its head. */
export const findAuthorsAtHost = statement<{ job: string }, { email: string }>((db, { job }) => {
  const query = sql`select users.email from users where users.id in (
      select accounts.user_id from ${authorsAtHost(sql`${job}`)})
    order by users.email`;
  return { compile: () => query.compile(db) };
});

/** The plan of an open pull request on whose approval the deployment after its merge depends. */
export const findReviewable = statement<{ job: string }, { job_id: string }>((db, { job }) => {
  const query = sql`select run.job_id from job_changes as run
      cross join pull_requests
    where run.job_id = ${job} and pull_requests.id = run.pull_request_id and pull_requests.state = 'open' and pull_requests.head_commit = run.commit_id
      and not exists (
        select 1 from job_changes as later join jobs on jobs.id = later.job_id
        where later.pull_request_id = run.pull_request_id and later.commit_id = run.commit_id
          and later.spec_id = run.spec_id and later.job_id > run.job_id
          and jobs.job_type = 'PLAN' and jobs.status = 'SUCCESS')`;
  return { compile: () => query.compile(db) };
});

/** Whether a user whose role permits it may approve a job, by its rule, and has not. */
const lacksVoteOf = (user: unknown, job: string): RawBuilder<unknown> => sql`(
  not exists (
    select 1 from job_approvals as vote
      where vote.job_id in (${sql.ref(`${job}.id`)}, ${approvedPlan(job)})
        and vote.user_id = ${user} and vote.decision = 'approve')
  and exists (
    select 1 from specs
      where specs.id = ${sql.ref(`${job}.spec_id`)} and ${passesAuthorRule(job, user)}))`;

/** The addresses of those who may approve a job, by the rule of its configuration, and have not. */
export const findApprovers = statement<
  { job: string; owner: string; limit: number },
  { email: string }
>((db, { job, owner, limit }) => {
  const query = sql`select users.email from (
      select user_id, role, zones from memberships where space_id = ${owner}
      union all select id as user_id, 'admin' as role, '{}' as zones from users where id = ${owner}) as whom
    join users on users.id = whom.user_id
    cross join jobs as gated
    where gated.id = ${job} and ${mayApprove("whom", "gated")} and ${lacksVoteOf(sql`whom.user_id`, "gated")}
    order by users.email limit ${limit}`;
  return { compile: () => query.compile(db) };
});

/** Whether a person is an author of a deployment. */
export const findAuthorship = statement<{ job: string; user: string }, { job_id: string }>(
  (db, { job, user }) => {
    const query = sql`select id as job_id from jobs as gated
      where gated.id = ${job} and ${isAuthor("gated", user)}`;
    return { compile: () => query.compile(db) };
  },
);

/** The decisions about a job, and those that count for it, the first one first. */
export const findApprovals = statement<{ job: string }, ApprovalRow>((db, { job }) =>
  db
    .selectFrom("job_approvals")
    .selectAll()
    .where((where) =>
      where.or([
        where("job_id", "=", job),
        where(
          "job_id",
          "=",
          where.selectFrom("job_changes").select("approved_job_id").where("job_id", "=", job),
        ),
      ]),
    )
    .orderBy("decided_at")
    .orderBy("user_id"),
);

/** Saves what a person has decided, in place of what they decided before. */
export async function saveApproval({ sql: db }: Queries, row: ApprovalRow): Promise<void> {
  const { job_id: _, user_id: _user, ...rest } = row;
  await db
    .insertInto("job_approvals")
    .values(row)
    .onConflict((conflict) => conflict.columns(["job_id", "user_id"]).doUpdateSet(rest))
    .execute();
}

/** Whether a job that waits for approvals waits for that of a user whose role permits it. */
export const waitsForVoteOf = (user: unknown, job = "jobs"): RawBuilder<boolean> => sql<boolean>`(
  ${sql.ref(`${job}.plan_job_id`)} is not null and ${lacksVoteOf(user, job)})`;
