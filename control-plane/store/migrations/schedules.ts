/** SQLite's, of tables that 0.1.0 had. */
export const columns = [
  `alter table specs add column expires_at bigint`,
  `alter table jobs add column schedule_id text`,
  `alter table jobs add column queue_class integer not null default 0`,
];

/** The tables of schedules, alike on both engines. `text`: the engine's type. */
export const tables = (text: string): string[] => [
  `create table schedules (
    id ${text} primary key, owner_id ${text} not null references spaces(id), name ${text} not null, kind ${text} not null,
    spec_id ${text} references specs(id) on delete cascade, zone_id ${text} references zones(id) on delete cascade,
    cron ${text}, timezone ${text} not null, window_minutes integer not null, starts_at bigint, ends_at bigint,
    enabled integer not null, author_id ${text}, moment bigint, look_at bigint, warn_at bigint, spread_to ${text},
    last_at bigint, last_job_id ${text}, last_skipped ${text}, created_at bigint not null, updated_at bigint not null,
    check ((zone_id is null) <> (spec_id is null)))`,
  `create table schedule_runs (
    schedule_id ${text} not null references schedules(id) on delete cascade,
    spec_id ${text} not null references specs(id) on delete cascade, owner_id ${text} not null, moment bigint not null,
    due_at bigint, plan_job_id ${text}, job_id ${text}, author_id ${text}, queue_class integer not null,
    skipped ${text}, primary key (schedule_id, spec_id))`,
];

export const indexes = [
  `create unique index schedules_name on schedules (owner_id, name) where cron is not null`,
  `create index schedules_owner on schedules (owner_id, id) where cron is not null`,
  `create index schedules_ends on schedules (owner_id, moment) where cron is null`,
  `create index schedules_due on schedules (look_at) where look_at is not null`,
  `create index schedules_spec on schedules (spec_id) where spec_id is not null`,
  `create index schedules_zone on schedules (zone_id) where zone_id is not null`,
  `create index schedule_runs_due on schedule_runs (owner_id, due_at) where due_at is not null`,
  `create index schedule_runs_plan on schedule_runs (plan_job_id) where plan_job_id is not null and job_id is null`,
  `create index schedule_runs_spec on schedule_runs (spec_id)`,
];
