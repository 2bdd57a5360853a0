import { sql } from "kysely";
import type { JobRow } from "../../domain/job.ts";
import { nameOfJob } from "../jobs/lists.ts";
import { statement } from "../statement.ts";

const columns = ["id", "created_by", "created_at", "claimed_at", "started_at", "ended_at"] as const;

export type JobFacts = Pick<JobRow, (typeof columns)[number]> & {
  readonly configuration: string | null;
  readonly worker: string | null;
};

/** The times of jobs, and what their configurations and workers are called; `ids` is a JSON list. */
export const findJobFacts = statement<{ ids: string }, JobFacts>((db, { ids }) =>
  db
    .selectFrom("jobs")
    .select(columns)
    .select([
      nameOfJob.as("configuration"),
      sql<string | null>`(select name from workers where workers.id = jobs.worker_id)`.as("worker"),
    ])
    .where("id", "in", sql<string>`(select value from json_each(${ids}))`),
);
