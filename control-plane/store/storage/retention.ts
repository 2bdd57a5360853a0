/**
 * SQL of retention: finds by an index what is old and removes a bounded number of rows at a time.
 * Each statement says itself what must stay, so that nothing can begin to need a row between the
 * look and the removal.
 */
import { sql, type Kysely, type RawBuilder } from "kysely";
import type { Queries } from "../db.ts";
import { statement } from "../statement.ts";
import type { Tables } from "../tables.ts";

const raw = (query: RawBuilder<unknown>, db: Kysely<Tables>) => ({
  compile: () => query.compile(db),
});

type Old = { readonly before: number; readonly limit: number };

/**
 * Marks the logs of jobs that ended before this moment as pruned and lists them for removal. A
 * plan's log stays as long as its artifact, and the log of a job that left the state locked until a
 * user has dealt with it.
 */
export const markOldLogs = statement<Old & { now: number }, { id: string }>(
  (db, { before, now, limit }) =>
    raw(
      sql`update jobs set log_pruned_at = ${now} where id in (
        select j.id from jobs as j indexed by jobs_log_kept
        where j.log_pruned_at is null and j.started_at is not null and j.released_at < ${before}
          and coalesce(j.ended_at, 0) < ${before}
          and not exists (select 1 from plan_artifacts where plan_artifacts.job_id = j.id)
          and not exists (select 1 from state_locks where state_locks.spec_id = j.spec_id and state_locks.job_id = j.id)
          and coalesce(
            (select created_at from log_chunks where log_chunks.job_id = j.id order by log_chunks.id desc limit 1),
            (select last_at from log_archives where log_archives.job_id = j.id), 0) < ${before}
        order by j.released_at limit ${limit})
      returning id`,
      db,
    ),
);

export async function addLogRemovals(tx: Queries, jobs: readonly string[]): Promise<void> {
  await tx.sql
    .insertInto("log_removals")
    .values(jobs.map((job_id) => ({ job_id })))
    .execute();
}

export const findLogRemoval = statement<Record<string, never>, { job_id: string }>((db) =>
  db.selectFrom("log_removals").select("job_id").limit(1),
);

/** Deletes up to `limit` chunks of a log. Returns their ids. */
export const deleteChunks = statement<{ job: string; limit: number }, { id: number }>(
  (db, { job, limit }) =>
    db
      .deleteFrom("log_chunks")
      .where("id", "in", (chunks) =>
        chunks
          .selectFrom("log_chunks")
          .select("id")
          .where("job_id", "=", job)
          .orderBy("id")
          .limit(limit),
      )
      .returning("id"),
);

export const deleteLogRemoval = statement<{ job: string }>((db, { job }) =>
  db.deleteFrom("log_removals").where("job_id", "=", job),
);

/** Also every job that names the artifact must have ended. Returns the blobs. */
export const deleteOldArtifacts = statement<Old, { blob: string }>((db, { before, limit }) =>
  raw(
    sql`delete from plan_artifacts where job_id in (
      select a.job_id from plan_artifacts as a indexed by plan_artifacts_created
      join jobs as j on j.id = a.job_id
      where a.created_at < ${before} and j.released_at < ${before} and coalesce(j.ended_at, 0) < ${before}
        and not exists (
          select 1 from jobs as d indexed by jobs_plan
          where d.plan_job_id = a.job_id
            and (d.released_at is null or d.released_at >= ${before} or coalesce(d.ended_at, 0) >= ${before}))
      order by a.created_at limit ${limit})
    returning blob`,
    db,
  ),
);

/** Whether a job among `jobs` has archive `a` as its source. */
const isNamedBy = (jobs: RawBuilder<unknown>) =>
  sql`exists (select 1 from ${jobs} and owner_id = a.owner_id and exists (
    select 1 from job_snapshots indexed by job_snapshots_archive
    where json_extract(config_snapshot, '$.source.sha256') = a.sha256 || '' and job_id = jobs.id))`;

/**
 * Whether archive `a` is what the last deployment of a configuration has deployed: checks for drift
 * plan it. Each job with the archive is compared with the last one of its configuration.
 */
const isDeployed = sql`exists (
  select 1 from job_snapshots as s indexed by job_snapshots_archive
  cross join jobs as d
  where d.id = s.job_id and json_extract(s.config_snapshot, '$.source.sha256') = a.sha256 || '' and d.owner_id || '' = a.owner_id
    and d.status = 'SUCCESS' and d.job_type = 'DEPLOY' and d.destroys = 0
    and d.id = (select l.id from jobs as l indexed by jobs_deployed
      where l.spec_id = d.spec_id and l.status = 'SUCCESS' and l.job_type <> 'PLAN' and l.job_type <> 'DESTROY_WORKER'
      order by l.claimed_at desc limit 1))`;

/**
 * Whether a configuration, its last deployment, a job that waits or runs, or a worker's deploy configuration has archive
 * `a` as its source. With the empty text it is no column: SQLite
 * finds no index by an expression that it compares with one.
 */
const isNamed = sql<number>`(
  exists (select 1 from specs indexed by specs_archive
    where json_extract(definition, '$.source.sha256') = a.sha256 || '' and specs.owner_id = a.owner_id)
  or ${isDeployed}
  or ${isNamedBy(sql`jobs indexed by jobs_queued where status = 'QUEUED'`)}
  or ${isNamedBy(sql`jobs indexed by jobs_held where worker_id is not null and released_at is null`)}
  or exists (select 1 from workers indexed by workers_archive
    where json_extract(metadata, '$.deploy_configuration.snapshot.source.sha256') = a.sha256 || '' and workers.owner_id = a.owner_id))`;

export interface ArchiveUse {
  readonly owner_id: string;
  readonly sha256: string;
  readonly named_at: number;
  readonly is_named: number;
}

export const listArchives = statement<{ owner: string; sha256: string; limit: number }, ArchiveUse>(
  (db, { owner, sha256, limit }) =>
    raw(
      sql`select a.owner_id, a.sha256, a.named_at, ${isNamed} as is_named from archives as a
      where (a.owner_id, a.sha256) > (${owner}, ${sha256}) order by a.owner_id, a.sha256 limit ${limit}`,
      db,
    ),
);

/** Notes that an archive is named now. */
export const setNamed = statement<{ owner: string; sha256: string; now: number }>(
  (db, { owner, sha256, now }) =>
    db
      .updateTable("archives")
      .set({ named_at: now })
      .where("owner_id", "=", owner)
      .where("sha256", "=", sha256),
);

/** Last named before this moment and not now. Returns its blob. */
export const deleteUnnamedArchive = statement<
  { owner: string; sha256: string; before: number },
  { blob: string }
>((db, { owner, sha256, before }) =>
  raw(
    sql`delete from archives as a
      where a.owner_id = ${owner} and a.sha256 = ${sha256} and a.named_at < ${before} and not ${isNamed} returning blob`,
    db,
  ),
);

export const listSpecsWithState = statement<{ after: string; limit: number }, { id: string }>(
  (db, { after, limit }) =>
    db
      .selectFrom("specs")
      .select("id")
      .where("id", ">", after)
      .where((where) =>
        where.exists(
          where
            .selectFrom("state_versions")
            .select("state_versions.id")
            .whereRef("state_versions.spec_id", "=", "specs.id"),
        ),
      )
      .orderBy("id")
      .limit(limit),
);

const oldStates = (spec: string, newest: number, before: number, limit: number) =>
  sql`select id from state_versions indexed by state_versions_spec
    where spec_id = ${spec} and created_at < ${before}
      and id < (select id from state_versions indexed by state_versions_spec where spec_id = ${spec} order by id desc limit 1 offset ${newest} - 1)
    order by id limit ${limit}`;

/** Older than this moment and not among the newest. Returns their blobs. */
export const deleteOldStates = statement<Old & { spec: string; newest: number }, { blob: string }>(
  (db, { spec, newest, before, limit }) =>
    raw(
      sql`delete from state_versions where id in (${oldStates(spec, newest, before, limit)}) returning blob`,
      db,
    ),
);

export const findOldState = statement<
  { spec: string; newest: number; before: number },
  { id: number }
>((db, { spec, newest, before }) => raw(oldStates(spec, newest, before, 1), db));

/** Removes the debug logs of these jobs; returns their blobs. */
export const deleteDebugLogs = (
  { sql: db }: Queries,
  jobs: readonly string[],
): Promise<{ blob: string }[]> =>
  db.deleteFrom("debug_logs").where("job_id", "in", jobs).returning("blob").execute();
