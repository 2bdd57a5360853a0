import { sql } from "kysely";
import type { OpenJob } from "../../domain/open-job.ts";
import type { Queries } from "../db.ts";
import { findFact, removeFact, setFact, zoneMovesFrom, zoneMovesTo } from "../facts.ts";
import { jobsBy } from "../indexed.ts";
import { statement } from "../statement.ts";

export interface ZoneMove {
  readonly zone: string;
  readonly from: string;
  readonly to: string;
}

/** Also of configurations that were in another zone when the job was queued. */
export async function findBusyJob(
  tx: Queries,
  { zone, from }: ZoneMove,
): Promise<OpenJob | undefined> {
  const fields = sql`id, job_type, status,
    (select name from specs where specs.id = jobs.spec_id) as configuration`;
  const { rows } = await sql<OpenJob>`
    select ${fields} from jobs where owner_id = ${from} and zone_id = ${zone} and status = 'QUEUED'
    union all
    select ${fields} from jobs where owner_id = ${from} and zone_id = ${zone} and worker_id is not null and released_at is null
    union all
    select ${fields} from jobs where ${isOfZone(zone)} and status = 'QUEUED'
    union all
    select ${fields} from jobs where ${isOfZone(zone)} and worker_id is not null and released_at is null
    limit 1`.execute(tx.sql);
  return rows[0];
}

/** A configuration of the zone whose state is locked: a runner that was lost may still write it. */
export async function findLockedName(tx: Queries, { zone }: ZoneMove): Promise<string | undefined> {
  const { rows } = await sql<{ name: string }>`
    select specs.name from specs join state_locks on state_locks.spec_id = specs.id
    where specs.zone_id = ${zone} limit 1`.execute(tx.sql);
  return rows[0]?.name;
}

/** Whether a job is of a configuration that is in the zone now. */
const isOfZone = (zone: string) => sql`spec_id in (select id from specs where zone_id = ${zone})`;

/** Whether a schedule is of the zone or of one of its configurations. */
const isScheduleOf = (table: string, zone: string) => {
  const column = (name: string) => sql.ref(`${table}.${name}`);
  return sql`(${column("zone_id")} = ${zone} or ${column("spec_id")} in (select id from specs where zone_id = ${zone}))`;
};

/** Something of the space that a zone uses. */
export interface Attached {
  readonly kind: "variable set" | "cloud identity" | "worker";
  readonly name: string;
}

export async function findAttached(tx: Queries, { zone, from }: ZoneMove): Promise<Attached[]> {
  const { rows } = await sql<Attached>`
    select 'variable set' as kind, name from variable_sets where id in (
      select set_id from variable_set_attachments where zone_id = ${zone}
        or spec_id in (select id from specs where zone_id = ${zone}))
    union all
    select 'cloud identity' as kind, name from cloud_identities where id in (
      select cloud_identity_id from specs where zone_id = ${zone})
    union all
    select 'worker' as kind, name from workers where owner_id = ${from}
      and json_extract(metadata, '$.deploy_configuration.configuration_id') in (
        select id from specs where zone_id = ${zone})
    limit 20`.execute(tx.sql);
  return rows;
}

/** A name of the zone, of its configurations or of their schedules that is taken in the other space. */
export async function findTakenName(
  tx: Queries,
  { zone, to }: ZoneMove,
): Promise<string | undefined> {
  const { rows } = await sql<{ name: string }>`
    select name from zones where owner_id = ${to} and name = (select name from zones where id = ${zone})
    union all
    select a.name from specs as a join specs as b on b.owner_id = ${to} and b.name = a.name where a.zone_id = ${zone}
    union all
    select a.project_name as name from specs as a
      join specs as b on b.owner_id = ${to} and b.project_name = a.project_name where a.zone_id = ${zone}
    union all
    select a.name from schedules as a join schedules as b on b.owner_id = ${to} and b.name = a.name and b.cron is not null
      where a.cron is not null and ${isScheduleOf("a", zone)}
    limit 1`.execute(tx.sql);
  return rows[0]?.name;
}

export async function countConfigurations(tx: Queries, zone: string): Promise<number> {
  const { rows } = await sql<{ count: number | string }>`
    select count(*) as count from specs where zone_id = ${zone}`.execute(tx.sql);
  return Number(rows[0]?.count ?? 0);
}

/** Of all versions of the states of these configurations. */
export async function sumStates({ sql: db }: Queries, specs: readonly string[]): Promise<number> {
  const { rows } = await sql<{ bytes: number | string }>`
    select coalesce(sum(size_bytes), 0) as bytes from state_versions
    where spec_id in (select value from json_each(${JSON.stringify(specs)}))`.execute(db);
  // PostgreSQL adds up to a number that the driver returns as text.
  return Number(rows[0]?.bytes ?? 0);
}

/**
 * Changes with every version of a state that is stored for a configuration of the zone, and with
 * every one that is removed. Costs one search of an index for each configuration.
 */
export async function findStatesMark(
  { sql: db }: Queries,
  { zone, from }: Omit<ZoneMove, "to">,
): Promise<string> {
  const { rows } = await sql<{ newest: string | null; bytes: number | string | null }>`
    select (select max((select max(id) from state_versions where spec_id = specs.id))
        from specs where zone_id = ${zone}) as newest,
      (select state_bytes from owner_usage where owner_id = ${from}) as bytes`.execute(db);
  return `${rows[0]?.newest ?? ""} ${rows[0]?.bytes ?? 0}`;
}

/** The newest job of each configuration of a zone, its last failure and what is deployed. */
const firstJobs = (zone: string) => sql`
  select failed_job_id as id from specs where zone_id = ${zone} and failed_job_id is not null
  union select (select id from jobs indexed by jobs_spec
    where jobs.spec_id = specs.id order by id desc limit 1) as id from specs where zone_id = ${zone}
  union select (select id from jobs indexed by jobs_deployed
    where jobs.spec_id = specs.id and status = 'SUCCESS' and job_type <> 'PLAN' and job_type <> 'DESTROY_WORKER'
    order by claimed_at desc limit 1) as id from specs where zone_id = ${zone}`;

/**
 * Moves a zone with its configurations and the jobs that their pages and decisions need; the others
 * follow by `moveSomeJobs`: 400,000 of them kept all other changes waiting for 6.2 s.
 * Configurations follow no branch there, because a connection stays in its space, as notification rules
 * do: those of the zone and its configurations are deleted.
 */
export async function moveZone(
  tx: Queries,
  { zone, from, to }: ZoneMove,
  state_bytes: number,
): Promise<void> {
  const { rows } = await sql<{ id: string }>`${firstJobs(zone)}`.execute(tx.sql);
  const jobs = JSON.stringify(rows.flatMap(({ id }) => id ?? []));
  const statements = [
    sql`update jobs set owner_id = ${to}, zone_id = ${zone}
      where id in (select value from json_each(${jobs})) and coalesce(owner_id, '') = ${from}`,
    sql`insert into archives (owner_id, sha256, blob, size_bytes, created_at, named_at)
      select ${to}, sha256, blob, size_bytes, created_at, named_at from archives
      where owner_id = ${from} and sha256 in (
        select json_extract(definition, '$.source.sha256') from specs where zone_id = ${zone})
      on conflict do nothing`,
    copyArchives({ from, to }, jobs),
    sql`insert into owner_usage (owner_id, state_bytes) values (${from}, ${-state_bytes})
      on conflict (owner_id) do update set state_bytes = owner_usage.state_bytes + excluded.state_bytes`,
    sql`insert into owner_usage (owner_id, state_bytes) values (${to}, ${state_bytes})
      on conflict (owner_id) do update set state_bytes = owner_usage.state_bytes + excluded.state_bytes`,
    sql`delete from follows where spec_id in (select id from specs where zone_id = ${zone})`,
    sql`delete from notification_rules where zone_id = ${zone}
      or spec_id in (select id from specs where zone_id = ${zone})`,
    sql`update schedules set owner_id = ${to} where ${isScheduleOf("schedules", zone)}`,
    sql`update schedule_runs set owner_id = ${to} where spec_id in (select id from specs where zone_id = ${zone})`,
    sql`update specs set owner_id = ${to} where zone_id = ${zone}`,
    sql`update zones set owner_id = ${to} where id = ${zone}`,
  ];
  for (const statement of statements) await statement.execute(tx.sql);
  await setFact(tx, zoneMovesFrom + zone, from);
}

/** The archives that jobs name are copied, without their content. `jobs`: a JSON array. */
const copyArchives = ({ from, to }: Pick<ZoneMove, "from" | "to">, jobs: string) =>
  sql`insert into archives (owner_id, sha256, blob, size_bytes, created_at, named_at)
    select ${to}, sha256, blob, size_bytes, created_at, named_at from archives
    where owner_id = ${from} and sha256 in (
      select json_extract(config_snapshot, '$.source.sha256') from json_each(${jobs}) as moved
        cross join job_snapshots where job_snapshots.job_id = moved.value)
    on conflict do nothing`;

/** Moves of zones that some jobs have not followed yet. */
export async function listUnfinishedMoves({ sql: db }: Queries): Promise<ZoneMove[]> {
  const rows = await db
    .selectFrom("facts")
    .innerJoin("zones", (join) =>
      join.on("facts.name", "=", sql<string>`${zoneMovesFrom} || zones.id`),
    )
    .select(["zones.id as zone", "facts.value as from", "zones.owner_id as to"])
    .where("facts.name", ">", zoneMovesFrom)
    .where("facts.name", "<", zoneMovesTo)
    .execute();
  return rows;
}

export const isMoving = async (queries: Queries, zone: string): Promise<boolean> =>
  (await findFact(queries, zoneMovesFrom + zone)) !== undefined;

/** Whether a move is the one that goes on: the zone may have been moved again. */
export async function isCurrentMove(tx: Queries, { zone, from, to }: ZoneMove): Promise<boolean> {
  if ((await findFact(tx, zoneMovesFrom + zone)) !== from) return false;
  const row = await tx.sql
    .selectFrom("zones")
    .select("owner_id")
    .where("id", "=", zone)
    .executeTakeFirst();
  return row?.owner_id === to;
}

export const endMove = (tx: Queries, zone: string): Promise<void> =>
  removeFact(tx, zoneMovesFrom + zone);

/** Jobs of a configuration before one of them by id, the newest first, and their spaces. */
export const listJobsOfSpec = statement<
  { spec: string; before: string; limit: number },
  { id: string; owner_id: string }
>((db, { spec, before, limit }) =>
  db
    .selectFrom(jobsBy("jobs_spec"))
    .select(["id", "owner_id"])
    .where("spec_id", "=", spec)
    .where("id", "<", before)
    .orderBy("id", "desc")
    .limit(limit),
);

/** Jobs of a space that ran in a zone. */
export const listJobsOfZone = statement<
  { owner: string; zone: string; limit: number },
  { id: string }
>((db, { owner, zone, limit }) =>
  db
    .selectFrom(jobsBy("jobs_zone"))
    .select("id")
    .where("owner_id", "=", owner)
    .where("zone_id", "=", zone)
    .orderBy("id", "desc")
    .limit(limit),
);

/** An expression, so that no index of the owner seems to select the jobs: it has all of an owner. */
const ofSpec = (column: string, otherwise: string) =>
  sql`coalesce((select ${sql.ref(column)} from specs where specs.id = jobs.spec_id and specs.owner_id <> ''), ${otherwise})`;

/**
 * Jobs go with their configuration, and so do those that ran in another zone; those of deleted
 * configurations go with the zone in which they ran. So no job names a zone of another space.
 */
export async function moveSomeJobs(
  tx: Queries,
  { zone, from, to }: ZoneMove,
  ids: readonly string[],
): Promise<void> {
  const jobs = JSON.stringify(ids);
  await sql`update jobs set owner_id = ${ofSpec("specs.owner_id", to)}, zone_id = ${ofSpec("specs.zone_id", zone)}
    where id in (select value from json_each(${jobs})) and coalesce(owner_id, '') = ${from}`.execute(
    tx.sql,
  );
  await copyArchives({ from, to }, jobs).execute(tx.sql);
}
