/**
 * Approvals of deployments. A job that waits for approvals is not in the queue, so it costs claims
 * nothing and holds up no other job of its configuration.
 */
import { sql, type Kysely } from "kysely";
import { headsBy, type QueuedRule } from "./0009-scale.ts";
import { wanted } from "./0014-features.ts";
import { kindOfJob } from "./postgres/indexes.ts";
import { fillQueueHeads as fillOnPostgres, queueTriggers } from "./postgres/triggers.ts";

/** Adds the columns and the table. Nothing waits for an approval yet, so the heads stay. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const statements = [
    ...columnsAndTable("text"),
    "drop trigger jobs_queued_new",
    "drop trigger jobs_queued_again",
    "drop trigger jobs_queue_left",
    "drop index jobs_queued_kind",
    ...heads.keep,
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
}

/** The same there. */
export async function upPostgres(db: Kysely<unknown>): Promise<void> {
  const statements = [
    ...columnsAndTable(`text collate "C"`),
    "drop index jobs_queued_kind",
    `create index jobs_queued_kind on jobs (${kindOfJob("").join(", ")}, id) where ${queuedRule.isQueued("")}`,
    ...queueTriggers(queuedRule),
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
}

export const queuedRule: QueuedRule = {
  isQueued: (row) => `${row}status = 'QUEUED' and ${row}unapproved = 0`,
  decidedBy: "status, unapproved",
};
const heads = headsBy(wanted, queuedRule);
/** Make the heads of a queue without any. */
export const fillQueueHeads = heads.fill;
export const fillPostgresQueueHeads = fillOnPostgres(queuedRule);

const columnsAndTable = (text: string): string[] => [
  `alter table specs add column approval_when ${text}`,
  `alter table specs add column approval_count integer not null default 1`,
  `alter table specs add column approval_by_author integer not null default 0`,
  `alter table jobs add column creator_id ${text}`,
  // So far only people own jobs.
  `update jobs set creator_id = owner_id where owner_id in (select id from users)`,
  `alter table jobs add column destructive integer not null default 1`,
  `alter table jobs add column unapproved integer not null default 0`,
  `create index jobs_unapproved on jobs (owner_id, spec_id, id) where status = 'QUEUED' and unapproved = 1`,
  `create table job_approvals (
    job_id ${text} not null references jobs(id), user_id ${text} not null references users(id), email ${text} not null,
    decision ${text} not null, comment ${text}, decided_at bigint not null, primary key (job_id, user_id))`,
];
