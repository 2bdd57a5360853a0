import { sql } from "kysely";
import type { OpenJob } from "../../domain/open-job.ts";
import type { Queries } from "../db.ts";

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

/** A name of the zone or of its configurations that is taken in the other space. */
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
    limit 1`.execute(tx.sql);
  return rows[0]?.name;
}

export interface ZoneSize {
  readonly configurations: number;
  readonly state_bytes: number;
}

export async function measureZone(tx: Queries, zone: string): Promise<ZoneSize> {
  const { rows } = await sql<Record<keyof ZoneSize, number | string>>`
    select (select count(*) from specs where zone_id = ${zone}) as configurations,
      (select coalesce(sum(size_bytes), 0) from state_versions
        where spec_id in (select id from specs where zone_id = ${zone})) as state_bytes`.execute(
    tx.sql,
  );
  const { configurations = 0, state_bytes = 0 } = rows[0] ?? {};
  // PostgreSQL adds up to a number that the driver returns as text.
  return { configurations: Number(configurations), state_bytes: Number(state_bytes) };
}

/**
 * Moves a zone. Jobs go with their configuration, and so do those that ran in another zone; those of
 * deleted configurations go with the zone in which they ran. So no job names a zone of another space.
 * They follow no branch there, because a connection stays in its space, and so do notification rules:
 * those of the zone and its configurations are deleted.
 * The archives that configurations and jobs name are copied, without their content.
 */
export async function moveZone(
  tx: Queries,
  { zone, from, to }: ZoneMove,
  { state_bytes }: ZoneSize,
): Promise<void> {
  const statements = [
    sql`update jobs set owner_id = ${to}, zone_id = ${zone} where ${isOfZone(zone)}`,
    sql`update jobs set zone_id = (select specs.zone_id from specs where specs.id = jobs.spec_id)
      where owner_id = ${from} and zone_id = ${zone}
        and exists (select 1 from specs where specs.id = jobs.spec_id and specs.owner_id = ${from})`,
    sql`update jobs set owner_id = ${to} where owner_id = ${from} and zone_id = ${zone}`,
    sql`insert into archives (owner_id, sha256, blob, size_bytes, created_at, named_at)
      select ${to}, sha256, blob, size_bytes, created_at, named_at from archives as a
      where owner_id = ${from} and (
        exists (select 1 from specs where zone_id = ${zone}
          and json_extract(definition, '$.source.sha256') = a.sha256)
        or exists (select 1 from job_snapshots join jobs on jobs.id = job_snapshots.job_id
          where json_extract(config_snapshot, '$.source.sha256') = a.sha256
            and jobs.owner_id = ${to} and jobs.zone_id = ${zone}))
      on conflict do nothing`,
    sql`insert into owner_usage (owner_id, state_bytes) values (${from}, ${-state_bytes})
      on conflict (owner_id) do update set state_bytes = owner_usage.state_bytes + excluded.state_bytes`,
    sql`insert into owner_usage (owner_id, state_bytes) values (${to}, ${state_bytes})
      on conflict (owner_id) do update set state_bytes = owner_usage.state_bytes + excluded.state_bytes`,
    sql`delete from follows where spec_id in (select id from specs where zone_id = ${zone})`,
    sql`delete from notification_rules where zone_id = ${zone}
      or spec_id in (select id from specs where zone_id = ${zone})`,
    sql`update specs set owner_id = ${to} where zone_id = ${zone}`,
    sql`update zones set owner_id = ${to} where id = ${zone}`,
  ];
  for (const statement of statements) await statement.execute(tx.sql);
}
