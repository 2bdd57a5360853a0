/** SQL of what jobs of a connection run. */
import { statement } from "../statement.ts";
import type { Queries } from "../db.ts";
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
  Pick<JobChangeRow, "connection_id" | "pull_request_id">
>((db, { job, now }) =>
  db
    .updateTable("job_changes")
    .set({ post_at: now })
    .where("job_id", "=", job)
    .returning(["connection_id", "pull_request_id"]),
);

export const markPullRequest = statement<{ id: string; now: number }>((db, { id, now }) =>
  db.updateTable("pull_requests").set({ post_at: now }).where("id", "=", id),
);

/** Lets the poller look at a connection at once. */
export const wakePoller = statement<{ connection: string; now: number }>(
  (db, { connection, now }) =>
    db.updateTable("connections").set({ poll_at: now }).where("id", "=", connection),
);

/** A DEPLOY of the plan, also one that was cancelled or rejected. */
export const findAnyDeployOf = statement<{ plan: string }, { id: string }>((db, { plan }) =>
  db.selectFrom("jobs").select("id").where("plan_job_id", "=", plan).limit(1),
);
