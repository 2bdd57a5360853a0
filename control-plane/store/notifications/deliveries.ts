/** SQL of deliveries: one for each event and rule that wants it. */
import { sql } from "kysely";
import { minute } from "../../../common/units.ts";
import type { EventRow } from "../events/events.ts";
import type { Queries } from "../db.ts";
import { inFew } from "../dialect.ts";
import { deliveriesBy, eventsBy } from "../indexed.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

export type DeliveryRow = Row<"deliveries">;

/** Events are delivered in order until one has failed for so long. */
const orderMilliseconds = 10 * minute;

/** Events without a sequence, in their order. */
export const findNewEvents = statement<{ limit: number }, EventRow>((db, { limit }) =>
  db
    .selectFrom(eventsBy("events_new"))
    .selectAll()
    .where("sequence", "is", null)
    .orderBy("id")
    .limit(limit),
);

/** Reserves the next sequences of a space. Returns the last of them. */
export async function takeSequences({ sql: db }: Queries, owner: string, count: number) {
  const { event_sequence } = await db
    .updateTable("spaces")
    .set((set) => ({ event_sequence: set("event_sequence", "+", count) }))
    .where("id", "=", owner)
    .returning("event_sequence")
    .executeTakeFirstOrThrow();
  return event_sequence;
}

export const setSequence = statement<{ id: number; sequence: number }>((db, { id, sequence }) =>
  db.updateTable("events").set({ sequence }).where("id", "=", id),
);

/** At most 2,000: SQLite binds 32,766 values in one statement. */
export async function insertDeliveries(
  { sql: db }: Queries,
  rows: readonly DeliveryRow[],
): Promise<void> {
  if (rows.length > 0) await db.insertInto("deliveries").values(rows).execute();
}

const open = sql`status = 'retrying'`;

/**
 * Makes the next delivery about one thing due: at once, or when the earlier ones have failed long
 * enough. Not while an earlier one may be under way.
 */
export const advance = statement<{ rule: string; about: string; now: number }>(
  (db, { rule, about, now }) => {
    const of = sql`rule_id = ${rule} and about = ${about} and ${open}`;
    const from = sql`from deliveries indexed by deliveries_open where ${of}`;
    const failed = sql`(select coalesce(max(first_failed_at), 0) + ${sql.lit(orderMilliseconds)} ${from} and attempt > 0)`;
    const query = sql`update deliveries
      set next_at = case when ${failed} > cast(${now} as bigint) then ${failed} else cast(${now} as bigint) end
      where id = (select id ${from} and attempt = 0 order by event_id limit 1) and attempt = 0 and ${open}
        and not exists (select 1 ${from} and attempt > 0 and first_failed_at is null)`;
    return { compile: () => query.compile(db) };
  },
);

/** Goes from rule to rule by the index, so that what waits for one costs nothing. */
export const findDueRules = statement<
  { now: number },
  { rule_id: string; owner_id: string; next_at: number }
>((db, { now }) => {
  const due = sql`from deliveries indexed by deliveries_due where next_at is not null`;
  const query = sql`with recursive begins (rule_id) as (
      select min(rule_id) ${due}
      union all select (select min(rule_id) ${due} and rule_id > begins.rule_id) from begins
        where begins.rule_id is not null)
    select begins.rule_id, rule.owner_id, (select min(next_at) ${due} and rule_id = begins.rule_id) as next_at
    from begins cross join notification_rules as rule
    where rule.id = begins.rule_id
      and exists (select 1 ${due} and rule_id = begins.rule_id and next_at <= cast(${now} as bigint))`;
  return { compile: () => query.compile(db) };
});

export const findDue = statement<{ rule: string; now: number; limit: number }, DeliveryRow>(
  (db, { rule, now, limit }) =>
    db
      .selectFrom(deliveriesBy("deliveries_due"))
      .selectAll()
      .where("rule_id", "=", rule)
      .where("next_at", "is not", null)
      .where("next_at", "<=", now)
      .orderBy("next_at")
      .limit(limit),
);

/** Begins an attempt, of which nothing is known yet, unless another server has begun it. `until`: when it counts as lost. */
export const takeDelivery = statement<
  { id: string; next_at: number; until: number; now: number },
  DeliveryRow
>((db, { id, next_at, until, now }) =>
  db
    .updateTable("deliveries")
    .set((set) => ({
      attempt: set("attempt", "+", 1),
      next_at: until,
      sent_at: now,
      error: null,
      response_status: null,
      duration_ms: null,
    }))
    .where("id", "=", id)
    .where("next_at", "=", next_at)
    .returningAll(),
);

/** Changes a delivery whose attempt has not been taken over. Returns whether it did. */
export async function endAttempt(
  { sql: db }: Queries,
  { id, next_at }: Pick<DeliveryRow, "id" | "next_at">,
  change: Partial<DeliveryRow>,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("deliveries")
    .set(change)
    .where("id", "=", id)
    .where("next_at", "=", next_at)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export async function updateDelivery(
  { sql: db }: Queries,
  id: string,
  change: Partial<DeliveryRow>,
): Promise<void> {
  await db.updateTable("deliveries").set(change).where("id", "=", id).execute();
}

/** Gives up all that waits for a rule. */
export const giveUpRule = statement<{ rule: string; error: string }>((db, { rule, error }) =>
  db
    .updateTable("deliveries")
    .set({ status: sql.lit("given_up" as const), next_at: null, error })
    .where("rule_id", "=", rule)
    .where("status", "=", sql.lit("retrying" as const)),
);

/**
 * Rules for which more than `limit` deliveries wait, and the newest that is too old. Goes from rule to
 * rule by the index, and reads no more of each than its newest.
 */
export const findCrowdedRules = statement<{ limit: number }, { rule: string; last: string }>(
  (db, { limit }) => {
    const waiting = sql`from deliveries indexed by deliveries_open where ${open}`;
    const query = sql`with recursive begins (rule_id) as (
        select min(rule_id) ${waiting}
        union all select (select min(rule_id) ${waiting} and rule_id > begins.rule_id) from begins
          where begins.rule_id is not null),
      searched (rule, last) as (
        select begins.rule_id, (
          select id from deliveries indexed by deliveries_status
            where rule_id = begins.rule_id and ${open} order by id desc limit 1 offset ${limit})
        from begins)
      select rule, last from searched where last is not null`;
    return { compile: () => query.compile(db) };
  },
);

/** Gives up some of those that wait for a rule, up to one of them, the oldest first. */
export const giveUpOldest = statement<
  { rule: string; last: string; limit: number; error: string },
  { id: string; about: string | null }
>((db, { rule, last, limit, error }) => {
  const oldest = sql`select id from deliveries indexed by deliveries_status
    where rule_id = ${rule} and ${open} and id <= ${last} order by id limit ${limit}`;
  const query = sql`update deliveries set status = 'given_up', next_at = null, error = ${error}
    where id ${inFew(db, oldest)} returning id, about`;
  return { compile: () => query.compile(db) };
});

export const findDelivery = statement<{ id: string; rule: string }, DeliveryRow>(
  (db, { id, rule }) =>
    db.selectFrom("deliveries").selectAll().where("id", "=", id).where("rule_id", "=", rule),
);

export const findLastDelivery = statement<{ rule: string }, DeliveryRow>((db, { rule }) =>
  db
    .selectFrom(deliveriesBy("deliveries_sent"))
    .selectAll()
    .where("rule_id", "=", rule)
    .where("sent_at", "is not", null)
    .orderBy("sent_at", "desc")
    .limit(1),
);

export interface DeliveryFilter {
  readonly rule: string;
  readonly status?: DeliveryRow["status"] | undefined;
  readonly event?: string | undefined;
  readonly before?: string | undefined;
  readonly limit: number;
}

/** The newest first. */
export function listDeliveries(
  { sql: db }: Queries,
  { rule, status, event, before, limit }: DeliveryFilter,
): Promise<DeliveryRow[]> {
  const index = event ? "deliveries_type" : status ? "deliveries_status" : "deliveries_rule";
  const [last, value] = event
    ? (["type", event] as const)
    : status
      ? (["status", status] as const)
      : (["rule_id", rule] as const);
  // A range and its order, not equality: PostgreSQL would read the deliveries of all rules by their
  // ids instead, until it has found enough.
  let query = db
    .selectFrom(deliveriesBy(index))
    .selectAll()
    .where(last, ">=", value)
    .where(last, "<=", value);
  if (last !== "rule_id") query = query.where("rule_id", "=", rule);
  if (event !== undefined && status !== undefined) query = query.where("status", "=", status);
  if (before !== undefined)
    query = query.where(sql<boolean>`(${sql.ref(last)}, id) < (${value}, ${before})`);
  return query.orderBy(last, "desc").orderBy("id", "desc").limit(limit).execute();
}

export const findEvent = statement<{ id: number }, EventRow>((db, { id }) =>
  db.selectFrom("events").selectAll().where("id", "=", id),
);

/** An event that was recorded once. */
export const findEventOnce = statement<{ owner: string; once: string }, EventRow>(
  (db, { owner, once }) =>
    db
      .selectFrom(eventsBy("events_once"))
      .selectAll()
      .where("owner_id", "=", owner)
      .where("once", "is not", null)
      .where("once", "=", once),
);

/** What an event's row does not have: the name of its space, and what the plan of its job changes. */
export const findSurroundings = statement<
  { owner: string; job: string },
  { space: string | null; counts: string | null }
>((db, { owner, job }) => {
  const query = sql`select coalesce((select name from teams where teams.id = ${owner}),
      (select email from users where users.id = ${owner})) as space,
    (select json_extract(plan_summary, '$.counts') from plan_summaries
      where plan_summaries.job_id = (select coalesce(plan_job_id, id) from jobs where jobs.id = ${job})) as counts`;
  return { compile: () => query.compile(db) };
});

/**
 * The verified addresses of the people of a space: the user whose it is, or the members of a team who
 * have a role in all of it.
 */
export const listAddresses = statement<{ owner: string }, { email: string; role: string }>(
  (db, { owner }) => {
    const query = sql`select lower(known.email) as email, whom.role from (
        select user_id, role from memberships where space_id = ${owner} and role <> 'none'
        union all select id as user_id, 'admin' as role from users where id = ${owner}) as whom
      cross join users as known where known.id = whom.user_id and known.blocked_at is null
      union select lower(accounts.email) as email, whom.role from (
        select user_id, role from memberships where space_id = ${owner} and role <> 'none'
        union all select id as user_id, 'admin' as role from users where id = ${owner}) as whom
      cross join users as known cross join accounts
      where known.id = whom.user_id and known.blocked_at is null and accounts.user_id = whom.user_id`;
    return { compile: () => query.compile(db) };
  },
);

/** Deletes up to `limit` events that are older, with their deliveries. Returns them. */
export const deleteSomeEvents = statement<{ before: number; limit: number }, { id: number }>(
  (db, { before, limit }) => {
    const old = sql`select id from events indexed by events_created
      where created_at < cast(${before} as bigint) order by created_at limit ${limit}`;
    const query = sql`delete from events where id ${inFew(db, old)} returning id`;
    return { compile: () => query.compile(db) };
  },
);
