/**
 * How many rows the statements of notifications, schedules and drift read on PostgreSQL, with a long
 * history of events, deliveries, runs and jobs.
 */
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { fillPostgres, type Filled } from "../../bench/lib/postgres.ts";
import { day, hour, minute } from "../../common/units.ts";
import { findOpenCheck } from "../../control-plane/store/configurations/drift.ts";
import { PostgresQueries } from "../../control-plane/store/engines/postgres-connection.ts";
import { insertEvent } from "../../control-plane/store/events/events.ts";
import * as deliveries from "../../control-plane/store/notifications/deliveries.ts";
import { findFailingRules } from "../../control-plane/store/notifications/rules.ts";
import * as watched from "../../control-plane/store/notifications/watched.ts";
import * as rounds from "../../control-plane/store/schedules/rounds.ts";
import {
  findComingEnds,
  findFailedEnds,
  findSkippedSchedules,
} from "../../control-plane/store/schedules/schedules.ts";
import { explain, wastefulStatements, type Case } from "../helpers/store/explain.ts";
import { lackOfPostgres, startPostgres, type PostgresServer } from "../helpers/store/postgres.ts";
import { proving } from "../helpers/project/proving.ts";
import { skipAt } from "../helpers/project/tools.ts";

const rowsOfEach = proving ? 1_000_000 : 100_000;
/** Rules, and schedules, that have equal parts of them. */
const parts = 20;
/** Deliveries that wait for each of the first rules. */
const waiting = 3000;
const stuckRules = 3;
const queued = 1000;

const now = Date.now();
const lack = lackOfPostgres();
let server: PostgresServer;
let client: pg.Client;
let filled: Filled;
beforeAll(async () => {
  if (lack !== undefined) return;
  server = await startPostgres();
  const url = await server.createMigrated();
  filled = await fillPostgres(url, { finished: rowsOfEach, queued, workers: 5 });
  client = new pg.Client({ connectionString: url });
  await client.connect();
  const { owner, zone } = filled;
  const pad = (n: string) => `lpad(${n}::text, 10, '0')`;
  // Without checking the keys of each row, which takes longer than all else.
  await client.query(`set session_replication_role = replica;
    insert into notification_rules (id, owner_id, name, kind, events, stalled_minutes, enabled, secrets, created_at, updated_at)
      select 'rule-' || n, '${owner}', 'rule-' || n, 'webhook', '["job.*", "queue.*", "state.*", "approval.*"]', 15, 1, '{}', 1, 1
      from generate_series(1, ${parts}) as n;
    insert into events (event_id, owner_id, sequence, type, spec_id, about, data, once, created_at)
      select 'evt_' || n, '${owner}', n, 'job.started', null, 'spec-' || n % 500, '{}', 'once ' || n, ${now - 20 * day} + n
      from generate_series(1, ${rowsOfEach}) as n;
    insert into deliveries (id, owner_id, rule_id, event_id, event_name, type, about, status, attempt, sent_at)
      select ${pad("events.id")}, '${owner}', 'rule-' || (events.id % ${parts} + 1), events.id, events.event_id, events.type, events.about,
        'delivered', 1, events.created_at from events;
    insert into deliveries (id, owner_id, rule_id, event_id, event_name, type, about, status, attempt, next_at, first_failed_at)
      select 'w' || ${pad("rule.n")} || ${pad("events.id")}, '${owner}', 'rule-' || rule.n, events.id, events.event_id, events.type, events.about,
        'retrying', events.id % 2, case events.id % 2 when 1 then ${now} - events.id end, case events.id % 2 when 1 then ${now - hour} end
      from events, generate_series(1, ${stuckRules}) as rule(n) where events.id <= ${waiting};
    insert into schedules (id, owner_id, name, kind, zone_id, cron, timezone, window_minutes, enabled, moment, look_at, last_at, created_at, updated_at)
      select 'schedule-' || n, '${owner}', 'schedule-' || n, 'plan', '${zone}', '0 2 * * *', 'UTC', 60, 1,
        ${now + day}, ${now + day}, ${now - hour}, 1, 1 from generate_series(1, ${rowsOfEach / queued}) as n;
    insert into schedule_runs (schedule_id, spec_id, owner_id, moment, job_id, queue_class)
      select schedules.id, specs.id, '${owner}', ${now - day}, null, 2 from schedules, specs;
    update schedule_runs set due_at = ${now} where schedule_id = 'schedule-1' and spec_id in (select id from specs limit 500);
    set session_replication_role = origin; set jit = off`);
  await client.query("vacuum analyze");
}, 30 * minute);
afterAll(async () => {
  await client?.end();
  await server?.close();
});
skipAt(lack);

/** A page, or what is done at one time. */
const most = 600;

async function wasteful(): Promise<string[]> {
  const { owner } = filled;
  const [run] = (
    await client.query<{ spec_id: string }>("select spec_id from schedule_runs limit 1")
  ).rows;
  const [job] = (
    await client.query<{ id: string }>("select id from jobs where status = 'SUCCESS' limit 1")
  ).rows;
  const rule = "rule-1";
  const spec = run!.spec_id;
  const ofRun = { schedule: "schedule-1", spec };
  const event = {
    event_id: "evt_new",
    owner_id: owner,
    type: "job.started",
    zone_id: null,
    spec_id: spec,
    job_id: job!.id,
    job: null,
    actor: null,
    about: spec,
    description: null,
    data: "{}",
    rule_id: null,
    once: null,
    created_at: now,
    selection: '"job.started"',
    prefix: '"job.*"',
    longer_prefix: '"job.started.*"',
  };
  const due = { rule, now, limit: 4 };
  const oldest = { rule, last: `w${"9".repeat(20)}`, limit: 200, error: "too many" };
  const patience = { owner, now, since: now - 2 * day, until: now + hour };
  const cases: Case[] = [
    ["insertEvent", insertEvent, event],
    ["findNewEvents", deliveries.findNewEvents, { limit: 20 }],
    ["setSequence", deliveries.setSequence, { id: 1, sequence: 1 }],
    ["advance", deliveries.advance, { rule, about: "spec-1", now }],
    ["findDueRules", deliveries.findDueRules, { now }],
    ["findDue", deliveries.findDue, due],
    ["takeDelivery", deliveries.takeDelivery, { id: "w", next_at: now, until: now, now }],
    ["giveUpRule", deliveries.giveUpRule, { rule, error: "gone" }, waiting],
    ["findCrowdedRules", deliveries.findCrowdedRules, { limit: 5000 }, stuckRules * waiting],
    ["giveUpOldest", deliveries.giveUpOldest, oldest],
    ["findDelivery", deliveries.findDelivery, { id: "w", rule }],
    ["findLastDelivery", deliveries.findLastDelivery, { rule }],
    ["findEvent", deliveries.findEvent, { id: 1 }],
    ["findEventOnce", deliveries.findEventOnce, { owner, once: "once 7" }],
    ["findSurroundings", deliveries.findSurroundings, { owner, job: job!.id }],
    ["deleteSomeEvents", deliveries.deleteSomeEvents, { before: now, limit: 500 }],
    ["findFailingRules", findFailingRules, { owner, limit: 10 }],
    ["findStalledRules", watched.findStalledRules, {}],
    // Each of those that wait is looked at.
    ["findStalled", watched.findStalled, { rule, now: now + hour, limit: 20 }, queued],
    ["findApprovalRule", watched.findApprovalRule, { owner }],
    ["findUntoldLocks", watched.findUntoldLocks, { limit: 100 }],
    ["findDueSchedules", rounds.findDueSchedules, { now, limit: 50 }],
    ["findRun", rounds.findRun, ofRun],
    ["findDueOwners", rounds.findDueOwners, { after: "", now, limit: 100 }],
    ["findDueRuns", rounds.findDueRuns, { owner, now, limit: 5 }],
    ["postponeRuns", rounds.postponeRuns, patience],
    // All of a schedule, and what is left of them in the index since they were postponed.
    ["dropDueRuns", rounds.dropDueRuns, { schedule: "schedule-1" }, 3 * queued],
    ["wakeRun", rounds.wakeRun, { plan: job!.id, now }],
    ["findSpecsOfZone", rounds.findSpecsOfZone, { zone: filled.zone, after: "", limit: 50 }],
    ["findSkippedSchedules", findSkippedSchedules, { owner, limit: 10 }, queued],
    ["findComingEnds", findComingEnds, { owner, until: now, limit: 10 }],
    ["findFailedEnds", findFailedEnds, { owner, limit: 10 }],
    ["findOpenCheck", findOpenCheck, { spec }],
  ];
  return wastefulStatements(client, cases, most);
}

/** Lists are planned for their values. */
async function wastefulLists(): Promise<string[]> {
  const found: string[] = [];
  const read = new PostgresQueries({
    query: async ({ text, values = [] }: pg.QueryConfig) => {
      found.push(
        ...(await explain(client, text, values as unknown[], most)).map(
          (part) => `${text}: ${part}`,
        ),
      );
      return client.query({ text, values: values as unknown[] });
    },
  } as never);
  const page = { rule: "rule-1", limit: 50 };
  const lists = [
    await deliveries.listDeliveries(read, page),
    await deliveries.listDeliveries(read, { ...page, status: "retrying" }),
    await deliveries.listDeliveries(read, { ...page, status: "given_up" }),
    await deliveries.listDeliveries(read, { ...page, event: "job.started" }),
    await deliveries.listDeliveries(read, { ...page, event: "job.failed", before: "9" }),
  ];
  expect(lists.map(({ length }) => length)).toEqual([50, 50, 0, 50, 0]);
  return found;
}

it("of notifications, schedules and drift read few rows, with and without statistics", async () => {
  expect([...(await wasteful()), ...(await wastefulLists())]).toEqual([]);
  // As after a restore, until the database has collected some. A list of people then sorts what one
  // rule has.
  await client.query("begin; delete from pg_statistic; commit");
  expect(await wasteful()).toEqual([]);
});
