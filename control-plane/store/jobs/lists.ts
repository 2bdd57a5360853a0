/**
 * SQL of lists of jobs. Each filter has an index of its own, so a page costs the same however many
 * jobs do not match.
 */
import { sql } from "kysely";
import type { JobStatus } from "../../../protocol/jobs.ts";
import type { JobRow } from "../../domain/job.ts";
import type { Queries } from "../db.ts";
import { jobsBy } from "../indexed.ts";

export interface JobFilter {
  readonly owner: string;
  readonly status?: JobStatus | undefined;
  readonly zone?: string | undefined;
  /** Only jobs that this worker holds, or held last. */
  readonly worker?: string | undefined;
  readonly configuration?: string | undefined;
  /** Only jobs older than this one. */
  readonly before?: string | undefined;
  readonly limit: number;
}

/** The ids of a page of an owner's jobs, newest first (ids sort by time). */
export async function listJobIds(queries: Queries, filter: JobFilter): Promise<string[]> {
  const rows = await jobsOf(queries, filter).select("jobs.id").execute();
  return rows.map(({ id }) => id);
}

/**
 * What a table of jobs shows: no part that can have megabytes, and the name that the configuration
 * had.
 */
export type JobSummaryRow = Pick<JobRow, (typeof summaryColumns)[number]> & {
  readonly name: string | null;
};
const summaryColumns = [
  "id",
  "owner_id",
  "job_type",
  "status",
  "spec_id",
  "assigned_worker_id",
  "worker_id",
  "labels",
  "features",
  "error_message",
  "created_at",
  "started_at",
  "ended_at",
] as const;

/** A page of an owner's jobs without their snapshots, newest first. */
export function listJobSummaries(queries: Queries, filter: JobFilter): Promise<JobSummaryRow[]> {
  return jobsOf(queries, filter)
    .select(summaryColumns)
    .select(
      sql<string | null>`(
        select json_extract(config_snapshot, '$.name') from job_snapshots indexed by job_snapshots_name
        where job_snapshots.job_id = jobs.id)`.as("name"),
    )
    .execute();
}

/** How many jobs of an owner have a status that is not an end; counts no further than `limit`. */
export async function countOpenJobs(
  queries: Queries,
  { owner, status, limit }: { owner: string; status: "QUEUED" | "PROCESSING"; limit: number },
): Promise<number> {
  return (await listJobIds(queries, { owner, status, limit })).length;
}

function jobsOf(
  { sql: db }: Queries,
  { owner, status, zone, configuration, worker, before, limit }: JobFilter,
) {
  const index = indexOf({ status, zone, configuration, worker });
  let query = db.selectFrom(jobsBy(index)).where("jobs.owner_id", "=", owner);
  // As literals: a partial index is used only where its condition is in the text of the statement.
  if (status !== undefined) query = query.where("jobs.status", "=", sql.lit(status));
  if (index === "jobs_held")
    query = query.where("jobs.worker_id", "is not", null).where("jobs.released_at", "is", null);
  if (index === "jobs_ended" || index === "jobs_zone_ended")
    query = query.where("jobs.ended_at", "is not", null);
  if (zone !== undefined) query = query.where("jobs.zone_id", "=", zone);
  if (configuration !== undefined) query = query.where("jobs.spec_id", "=", configuration);
  if (worker !== undefined) query = query.where("jobs.worker_id", "=", worker);
  if (before !== undefined) query = query.where("jobs.id", "<", before);
  return query.orderBy("jobs.id", "desc").limit(limit);
}

function indexOf({
  status,
  zone,
  configuration,
  worker,
}: Pick<JobFilter, "status" | "zone" | "configuration" | "worker">): string {
  if (configuration !== undefined) return "jobs_spec";
  if (worker !== undefined) return "jobs_worker";
  // What waits and what runs is little: of a zone, it is found among all of the owner's.
  if (status === "QUEUED") return "jobs_queued";
  if (status === "PROCESSING") return "jobs_held";
  if (status !== undefined) return zone === undefined ? "jobs_ended" : "jobs_zone_ended";
  return zone === undefined ? "jobs_owner" : "jobs_zone";
}
