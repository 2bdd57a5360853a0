/** SQL of what is watched for events: only in spaces with a rule that wants to know, and each once. */
import { sql } from "kysely";
import { minute } from "../../../common/units.ts";
import { statement } from "../statement.ts";

/** Whether an enabled rule selects the event or those that begin like it. */
const wants = (type: string) => {
  const prefix = `"${type.split(".")[0]}.*"`;
  return sql`rule.enabled = 1
    and (instr(rule.events, ${sql.lit(`"${type}"`)}) > 0 or instr(rule.events, ${sql.lit(prefix)}) > 0)`;
};

/** `about`: which of these rules may be told; else what no rule is told of is found again and again. */
const isWanted = (owner: string, type: string, about: ReturnType<typeof sql>) => sql`exists (
  select 1 from notification_rules as rule indexed by notification_rules_owner
  where rule.owner_id = ${sql.ref(owner)} and ${wants(type)} and ${about})`;

const isTold = (owner: string, once: ReturnType<typeof sql>) => sql`exists (
  select 1 from events indexed by events_once
  where events.owner_id = ${sql.ref(owner)} and events.once is not null and events.once = ${once})`;

const ofSpec = sql`(rule.spec_id is null or rule.spec_id = specs.id)
  and (rule.zone_id is null or rule.zone_id = specs.zone_id)`;
const ofSpace = sql`rule.spec_id is null and rule.zone_id is null`;

/** The rules of all spaces that want to know of jobs which wait too long. */
export const findStalledRules = statement<Record<string, never>, { rule: string }>((db) => {
  const query = sql`select rule.id as rule from notification_rules as rule
    where ${wants("queue.stalled")}`;
  return { compile: () => query.compile(db) };
});

/** Jobs that have waited longer than a rule says. */
export const findStalled = statement<{ rule: string; now: number; limit: number }, { job: string }>(
  (db, { rule, now, limit }) => {
    const query = sql`select jobs.id as job
      from notification_rules as rule cross join jobs indexed by jobs_queued
      where rule.id = ${rule} and jobs.status = 'QUEUED' and jobs.owner_id = rule.owner_id
        and jobs.unapproved = 0
        and jobs.created_at <= cast(${now} as bigint) - rule.stalled_minutes * ${sql.lit(minute)}
        and (rule.spec_id is null or rule.spec_id = jobs.spec_id)
        and (rule.zone_id is null or rule.zone_id = jobs.zone_id)
        and not ${isTold("jobs.owner_id", sql`'stalled ' || jobs.id || ' ' || rule.id`)}
      limit ${limit}`;
    return { compile: () => query.compile(db) };
  },
);

/** A rule of the space that wants to know of approvals which are needed. */
export const findApprovalRule = statement<{ owner: string }, { id: string }>((db, { owner }) => {
  const query = sql`select rule.id from notification_rules as rule indexed by notification_rules_owner
    where rule.owner_id = ${owner} and ${wants("approval.needed")} limit 1`;
  return { compile: () => query.compile(db) };
});

/** Locks of jobs that have ended. */
export const findUntoldLocks = statement<
  { limit: number },
  { spec: string; owner: string; lock_id: string; created_at: number }
>((db, { limit }) => {
  const query = sql`select specs.id as spec, specs.owner_id as owner, state_locks.lock_id, state_locks.created_at
    from state_locks cross join jobs cross join specs
    where jobs.id = state_locks.job_id and jobs.released_at is not null and specs.id = state_locks.spec_id
      and ${isWanted("specs.owner_id", "state.locked_without_job", ofSpec)}
      and not ${isTold("specs.owner_id", sql`'locked ' || state_locks.lock_id`)}
    limit ${limit}`;
  return { compile: () => query.compile(db) };
});

/** Access tokens that end within a period, and were made for longer. */
export const findExpiringTokens = statement<
  { now: number; period: number; days: number; limit: number },
  { id: string; name: string; owner: string; expires_at: number }
>((db, { now, period, days, limit }) => {
  const query = sql`select access_tokens.id, access_tokens.name, access_tokens.owner_id as owner, access_tokens.expires_at
    from access_tokens
    where access_tokens.expires_at > cast(${now} as bigint)
      and access_tokens.expires_at <= cast(${now} as bigint) + cast(${period} as bigint)
      and access_tokens.created_at < access_tokens.expires_at - cast(${period} as bigint)
      and ${isWanted("access_tokens.owner_id", "token.expires", ofSpace)}
      and not ${isTold("access_tokens.owner_id", sql`'token ' || access_tokens.id || ' ' || cast(cast(${days} as integer) as text)`)}
    limit ${limit}`;
  return { compile: () => query.compile(db) };
});
