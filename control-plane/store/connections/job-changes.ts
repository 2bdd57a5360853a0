/** SQL of what jobs of a connection run. */
import { sql } from "kysely";
import type { Queries } from "../db.ts";
import { jobChangesBy } from "../indexed.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

export type JobChangeRow = Row<"job_changes">;

export const findChange = statement<{ job: string }, JobChangeRow>((db, { job }) =>
  db.selectFrom("job_changes").selectAll().where("job_id", "=", job),
);

export async function insertChange(tx: Queries, row: JobChangeRow): Promise<void> {
  await tx.sql.insertInto("job_changes").values(row).execute();
}

/** Notes that the host shows a job otherwise than it is. Returns whose job it is, if there is a host. */
export const markChange = statement<
  { job: string; now: number },
  Pick<JobChangeRow, "connection_id" | "pull_request_id" | "merged_request_id">
>((db, { job, now }) =>
  db
    .updateTable("job_changes")
    .set({ post_at: now })
    .where("job_id", "=", job)
    .returning(["connection_id", "pull_request_id", "merged_request_id"]),
);

export const markPullRequest = statement<{ id: string; now: number }>((db, { id, now }) =>
  db.updateTable("pull_requests").set({ post_at: now }).where("id", "=", id),
);

/** The newest plan of the head of a pull request, of one configuration. */
export const findReviewedPlan = statement<{ pull: string; spec: string }, JobChangeRow>(
  (db, { pull, spec }) =>
    db
      .selectFrom(jobChangesBy("job_changes_pull_request"))
      .innerJoin("pull_requests", (join) =>
        join
          .onRef("pull_requests.id", "=", "job_changes.pull_request_id")
          .onRef("pull_requests.head_commit", "=", "job_changes.commit_id"),
      )
      .innerJoin("jobs", "jobs.id", "job_changes.job_id")
      .selectAll("job_changes")
      .where("job_changes.pull_request_id", "=", pull)
      .where("job_changes.spec_id", "=", spec)
      .where("jobs.job_type", "=", sql.lit("PLAN" as const))
      .where("jobs.status", "=", sql.lit("SUCCESS" as const))
      .orderBy("job_changes.job_id", "desc")
      .limit(1),
);

/** Notes that open pull requests show something else of a configuration: its rule, or its base. */
export async function markOpenPlans(tx: Queries, spec: string, now: number): Promise<void> {
  const open = sql`follows join pull_requests indexed by pull_requests_open
      on pull_requests.connection_id = follows.connection_id and pull_requests.repository_id = follows.repository_id
        and pull_requests.state = 'open'
    join job_changes as run on run.pull_request_id = pull_requests.id and run.commit_id = pull_requests.head_commit
      and run.spec_id = follows.spec_id
    where follows.spec_id = ${spec}`;
  await sql`update job_changes set post_at = ${now} where job_id in (select run.job_id from ${open})`.execute(
    tx.sql,
  );
  await sql`update pull_requests set post_at = ${now} where id in (select run.pull_request_id from ${open})`.execute(
    tx.sql,
  );
}

/** Lets the poller look at a connection at once. */
export const wakePoller = statement<{ connection: string; now: number }>(
  (db, { connection, now }) =>
    db.updateTable("connections").set({ poll_at: now }).where("id", "=", connection),
);

/** A DEPLOY of the plan, also one that was cancelled or rejected. */
export const findAnyDeployOf = statement<{ plan: string }, { id: string }>((db, { plan }) =>
  db.selectFrom("jobs").select("id").where("plan_job_id", "=", plan).limit(1),
);
