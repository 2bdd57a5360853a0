/**
 * SQL of lists of jobs. Each filter has an index of its own, so a page costs the same however many
 * jobs do not match. A page that several filters select comes from a bounded part of one index.
 */
import { sql, type RawBuilder } from "kysely";
import type { JobStatus, JobType } from "../../../protocol/jobs.ts";
import type { JobRow } from "../../domain/job.ts";
import { startOfIds, timeOfId } from "../../domain/moments.ts";
import type { Queries } from "../db.ts";
import { waitsForVoteOf } from "../approvals/approvals.ts";
import { jobsBy } from "../indexed.ts";
import { contains } from "../search/contains.ts";
import { isLimited, isSeen } from "../spaces.ts";
import { changesOfJob } from "./runs.ts";

export interface JobFilter {
  readonly owner: string;
  readonly status?: JobStatus | undefined;
  readonly zone?: string | undefined;
  readonly worker?: string | undefined;
  readonly configuration?: string | undefined;
  readonly type?: JobType | undefined;
  /** Only jobs that the person of this name created. */
  readonly createdBy?: string | undefined;
  /** Only jobs whose creator has this in their name. */
  readonly creator?: string | undefined;
  /** Only jobs that wait for the approval of the user with this id, who has the role. */
  readonly approver?: string | undefined;
  /** The only zones in which the approver has the role; undefined: all. */
  readonly approvable?: readonly string[] | undefined;
  /** Only jobs whose configuration had this in its name when they were created. */
  readonly name?: string | undefined;
  readonly prefix?: string | undefined;
  /** From `since` on, before `until`, in epoch milliseconds. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly before?: string | undefined;
  readonly from?: string | undefined;
  readonly limit: number;
}

/** How many jobs are searched for one page if no index covers the filters. */
export const searchedJobs = 2000;

/** The ids of a page of an owner's jobs, newest first (ids sort by time). */
const listJobIds = (queries: Queries, filter: JobFilter): Promise<{ id: string }[]> =>
  jobsOf(queries, filter).select("jobs.id").execute();

/** Without parts of megabytes; with the name that the configuration had. */
export type JobSummaryRow = Pick<JobRow, (typeof summaryColumns)[number]> & {
  /** Null after the configuration was deleted, even while jobs still refer to it. */
  readonly configuration_id: string | null;
  readonly name: string | null;
  /** The counts of its plan, as JSON. */
  readonly changes: string | null;
  /** Its change, and what the host shows of it, as JSON. */
  readonly change: string | null;
};
const summaryColumns = [
  "id",
  "owner_id",
  "job_type",
  "destroys",
  "status",
  "spec_id",
  "assigned_worker_id",
  "worker_id",
  "labels",
  "features",
  "unapproved",
  "queue_class",
  "plan_job_id",
  "created_by",
  "error_message",
  "failed_checks",
  "created_at",
  "started_at",
  "cancelled_at",
  "cancelled_by",
  "ended_at",
] as const;

/** The name that the configuration of a job had when the job was created. */
export const nameOfJob = sql<string | null>`(
  select json_extract(config_snapshot, '$.name') from job_snapshots indexed by job_snapshots_name
  where job_snapshots.job_id = jobs.id)`;

/** Within the statement of the list, which saves one for each of its jobs. */
const liveSpecOfJob = sql<string | null>`(
  select specs.id from specs where specs.id = jobs.spec_id and specs.deleted_owner_id is null)`;

const changeOfJob = sql<string | null>`(
  select cast(json_object('change', change, 'posted_status', posted_status, 'post_error', post_error, 'post_at', post_at) as text)
  from job_changes where job_changes.job_id = jobs.id)`;

/** A page of an owner's jobs without their snapshots, newest first. */
export async function listJobSummaries(
  queries: Queries,
  filter: JobFilter,
): Promise<JobSummaryRow[]> {
  // Most of the history may be in other zones, so only a part of it is searched.
  return isLimited(filter.owner)
    ? [...(await findJobPage(queries, filter)).jobs]
    : summaries(queries, filter);
}

function summaries(queries: Queries, filter: JobFilter): Promise<JobSummaryRow[]> {
  return jobsOf(queries, filter)
    .select(summaryColumns)
    .select([
      liveSpecOfJob.as("configuration_id"),
      nameOfJob.as("name"),
      changesOfJob.as("changes"),
      changeOfJob.as("change"),
    ])
    .execute();
}

export interface JobPage<T> {
  readonly jobs: readonly T[];
  /** Where the list continues; undefined at its end. */
  readonly next: string | undefined;
  /** Epoch milliseconds up to which jobs were searched; the page may have few jobs, or none. */
  readonly searchedUntil: number | undefined;
}

export const findJobPage = (queries: Queries, filter: JobFilter): Promise<JobPage<JobSummaryRow>> =>
  findPage(queries, filter, summaries);

export const findJobIds = (
  queries: Queries,
  filter: JobFilter,
): Promise<JobPage<{ readonly id: string }>> => findPage(queries, filter, listJobIds);

async function findPage<T extends { readonly id: string }>(
  queries: Queries,
  filter: JobFilter,
  list: (queries: Queries, filter: JobFilter) => Promise<T[]>,
): Promise<JobPage<T>> {
  const { limit } = filter;
  const from = isExact(filter) ? undefined : await findEndOfSearch(queries, filter);
  const found = await list(queries, { ...filter, from, limit: limit + 1 });
  const jobs = found.slice(0, limit);
  if (found.length > limit) return { jobs, next: jobs.at(-1)?.id, searchedUntil: undefined };
  return { jobs, next: from, searchedUntil: from === undefined ? undefined : timeOfId(from) };
}

export async function isCreator(queries: Queries, owner: string, name: string): Promise<boolean> {
  return (await findJobIds(queries, { owner, createdBy: name, limit: 1 })).jobs.length > 0;
}

/** How many jobs of an owner have a status that is not an end; counts no further than `limit`. */
export async function countOpenJobs(
  queries: Queries,
  { owner, status, limit }: { owner: string; status: "QUEUED" | "PROCESSING"; limit: number },
): Promise<number> {
  const counted = jobsOf(queries, { owner, status, limit }).select("jobs.id").as("counted");
  const { count } = await queries.sql
    .selectFrom(counted)
    .select((db) => db.fn.countAll<number | string>().as("count"))
    .executeTakeFirstOrThrow();
  return Number(count);
}

async function findEndOfSearch(queries: Queries, filter: JobFilter): Promise<string | undefined> {
  const last = await rangeOf(queries, filter)
    .select("jobs.id")
    .limit(1)
    .offset(searchedJobs - 1)
    .executeTakeFirst();
  return last?.id;
}

function jobsOf(queries: Queries, filter: JobFilter) {
  const { name, creator, limit } = filter;
  const { fields } = indexOf(filter);
  const isLeft = (field: Field) => filter[field] !== undefined && !fields.includes(field);
  let query = rangeOf(queries, filter);
  for (const field of ["status", "zone", "type", "createdBy"] as const)
    // An expression and not a column, so that no other index than the chosen one seems to select it.
    if (isLeft(field))
      query = query.where(
        sql<boolean>`coalesce(${sql.ref(columnOf[field])}, '') = ${filter[field]}`,
      );
  if (filter.approvable)
    query = query.where(
      ofSpec(
        sql`specs.zone_id in (select value from json_each(${JSON.stringify(filter.approvable)}))`,
      ),
    );
  if (isLimited(filter.owner))
    query = query.where(ofSpec(isSeen(filter.owner, "specs.zone_id", "specs.id")));
  if (isLeft("name")) query = query.where(contains(nameOfJob, name!));
  if (isLeft("creator")) query = query.where(contains(sql`created_by`, creator!));
  return query.limit(limit);
}

/** A job is seen with its configuration, wherever that was when the job was created. */
const ofSpec = (condition: RawBuilder<unknown>): RawBuilder<boolean> => sql<boolean>`exists (
  select 1 from specs where specs.id = jobs.spec_id and specs.deleted_owner_id is null
    and jobs.job_type <> 'DESTROY_WORKER' and ${condition})`;

/** The range of an index in which a filter's jobs are, newest first. */
function rangeOf({ sql: db }: Queries, filter: JobFilter) {
  const { owner, status, approver, configuration } = filter;
  const { index, columns = [] } = indexOf(filter);
  let query = db.selectFrom(jobsBy(index)).where("jobs.owner_id", "=", owner);
  // As literals: a partial index is used only where its condition is in the text of the statement.
  if (index === "jobs_queued" || index === "jobs_held")
    query = query.where("jobs.status", "=", sql.lit(status!));
  if (approver !== undefined)
    query = query
      .where("jobs.status", "=", sql.lit("QUEUED" as const))
      .where("jobs.unapproved", "=", sql.lit(1 as const))
      .where(waitsForVoteOf(approver));
  if (approver !== undefined && configuration !== undefined)
    query = query.where("jobs.spec_id", "=", configuration);
  if (index === "jobs_held")
    query = query.where("jobs.worker_id", "is not", null).where("jobs.released_at", "is", null);
  if (index === "jobs_ended" || index === "jobs_zone_ended")
    query = query.where("jobs.ended_at", "is not", null);
  const { first, end } = idsOf(filter);
  if (columns.length > 0) {
    query = query
      .where(compare(filter, columns, sql`>=`, first))
      .where(compare(filter, columns, sql`<=`, end));
    // "<" would say the same, but by it PostgreSQL expects fewer jobs than an old space has.
    if (end !== undefined) query = query.where("jobs.id", "<>", end);
    // Without statistics, PostgreSQL would expect as much of an index that lacks these columns.
    for (const field of columns.slice(1))
      query = query
        .where(compare(filter, [field], sql`>=`, undefined))
        .where(compare(filter, [field], sql`<=`, undefined));
  } else {
    if (first !== undefined) query = query.where("jobs.id", ">=", first);
    if (end !== undefined) query = query.where("jobs.id", "<", end);
  }
  for (const field of columns) {
    if (isInCondition(field)) query = query.where(columnOf[field], "is not", null);
    query = query.orderBy(columnOf[field], "desc");
  }
  return query.orderBy("jobs.id", "desc");
}

/**
 * A bound of the range, as one comparison of all columns of the index. Equal columns would say the
 * same, but then PostgreSQL takes the order of the ids for that of every index: it expects wanted
 * jobs among the newest, and reads the whole queue until the first finished one.
 */
function compare(
  filter: JobFilter,
  columns: readonly Column[],
  operator: RawBuilder<unknown>,
  id: string | undefined,
): RawBuilder<boolean> {
  const names = columns.map((field) => sql.ref(columnOf[field]));
  const values = columns.map((field) => sql`${filter[field]}`);
  if (id !== undefined) {
    names.push(sql.ref("jobs.id"));
    values.push(sql`${id}`);
  }
  return sql<boolean>`(${sql.join(names)}) ${operator} (${sql.join(values)})`;
}

/**
 * The range of the ids: from `first` on, before `end`. SQLite enters an index at one bound of each
 * kind and checks the others row by row, so the closest ones are chosen here.
 */
function idsOf({ before, from, since, until, prefix }: JobFilter): {
  readonly first: string | undefined;
  readonly end: string | undefined;
} {
  const firsts = [from, since === undefined ? undefined : startOfIds(since), prefix];
  // "g" follows every hexadecimal digit and the hyphen.
  const ends = [
    before,
    until === undefined ? undefined : startOfIds(until),
    prefix && `${prefix}g`,
  ];
  return { first: sorted(firsts).at(-1), end: sorted(ends)[0] };
}

const sorted = (ids: readonly (string | undefined)[]): string[] =>
  ids.filter((id) => id !== undefined).toSorted((a, b) => (a < b ? -1 : 1));

const selectable = [
  "approver",
  "configuration",
  "worker",
  "createdBy",
  "creator",
  "status",
  "zone",
  "type",
  "name",
] as const satisfies (keyof JobFilter)[];
type Field = (typeof selectable)[number];

function isExact(filter: JobFilter): boolean {
  if (isLimited(filter.owner)) return false;
  const selected = indexOf(filter).fields;
  return selectable.every((field) => filter[field] === undefined || selected.includes(field));
}

const columnOf = {
  configuration: "jobs.spec_id",
  worker: "jobs.worker_id",
  createdBy: "jobs.created_by",
  zone: "jobs.zone_id",
  status: "jobs.status",
  type: "jobs.job_type",
} as const satisfies Partial<Record<Field, string>>;
type Column = keyof typeof columnOf;

/** Whether the indexes that have the column leave out the jobs without a value in it. */
const isInCondition = (field: Column): boolean =>
  field === "zone" || field === "createdBy" || field === "worker";

/**
 * An index, the fields of a filter by which it selects, and those of which it has columns: between
 * that of the owner and that of the id, in this order.
 */
function indexOf({ status, zone, configuration, worker, createdBy, type, approver }: JobFilter): {
  readonly index: string;
  readonly fields: readonly Field[];
  readonly columns?: readonly Column[];
} {
  const by = (index: string, ...columns: Column[]) => ({ index, fields: columns, columns });
  // Few jobs wait for approvals: at most as many as the quota permits.
  if (approver !== undefined)
    return { index: "jobs_unapproved", fields: ["approver", "configuration"] };
  if (configuration !== undefined) return by("jobs_spec", "configuration");
  if (worker !== undefined) return by("jobs_worker", "worker");
  // Few jobs wait or run: those of a zone are found among all of the owner's.
  if (status === "QUEUED") return { index: "jobs_queued", fields: ["status"] };
  if (status === "PROCESSING") return { index: "jobs_held", fields: ["status"] };
  if (createdBy !== undefined) return by("jobs_created_by", "createdBy");
  if (status !== undefined && zone !== undefined) return by("jobs_zone_ended", "zone", "status");
  if (status !== undefined) return by("jobs_ended", "status");
  if (zone !== undefined) return by("jobs_zone", "zone");
  if (type !== undefined) return by("jobs_type", "type");
  return { index: "jobs_owner", fields: [] };
}
