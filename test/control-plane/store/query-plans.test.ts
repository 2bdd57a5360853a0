/**
 * Every statement reads what it needs by an index, on a store with a long history of one owner and
 * one worker.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fillHistory, type History } from "../../../bench/lib/history.ts";
import { jobStatuses } from "../../../protocol/jobs.ts";
import {
  findEndOfSearch,
  listAuditEntries,
  listConfigurationsOfJobs,
} from "../../../control-plane/store/audit/audit.ts";
import { listCloudIdentities } from "../../../control-plane/store/identities/identities.ts";
import {
  findJobIds,
  findJobPage,
  listJobSummaries,
} from "../../../control-plane/store/jobs/lists.ts";
import { listLogins } from "../../../control-plane/store/people/logins.ts";
import {
  countSpecsByStatus,
  listFailedSpecs,
  listSpecSummaries,
  listUsersOfIdentity,
  listWarnedSpecs,
} from "../../../control-plane/store/configurations/summaries.ts";
import {
  listSpecIds,
  listSpecIdsOfZone,
} from "../../../control-plane/store/configurations/configurations.ts";
import {
  listDrifted,
  listSpecIdsByDrift,
} from "../../../control-plane/store/configurations/drift.ts";
import { listSchedules } from "../../../control-plane/store/schedules/schedules.ts";
import { listZones } from "../../../control-plane/store/zones/zones.ts";
import { Connection } from "../../../control-plane/store/engines/sqlite-connection.ts";
import { listAccessTokens } from "../../../control-plane/store/people/access-tokens.ts";
import { listStateVersions } from "../../../control-plane/store/states/states.ts";
import type { CompiledStatement, Statement } from "../../../control-plane/store/statement.ts";
import {
  listRegistrationTokens,
  listWorkerIds,
} from "../../../control-plane/store/workers/workers.ts";
import { folderForFile } from "../../helpers/machine/folders.ts";

/** The keys and indexes of waiting and running jobs, by which a hot statement may read jobs. */
const liveIndexes =
  /\bjobs_(queued|queued_all|queued_kind|drift_check|unreleased_spec|unreleased_worker|unapproved|held|omitted|cancelled|plan|spec_started|deployed|log_kept)\b|queue_heads_(own|all)|sqlite_autoindex_jobs_1/;
/** Statements that read every row of a small table, with the reason why that is acceptable. */
const scans: Record<string, string> = {
  findSilent: "every worker, every two seconds",
  markOffline: "every worker, when one has been silent",
  findLostHolders: "every worker, every two seconds",
  findLeftEphemeral: "every worker, every two seconds",
  countWorkers: "every worker, at most every five seconds",
  countDrift: "every configuration, at most every five seconds",
  countQueued: "every queued job, at most every five seconds",
  countHeld: "every held job, at most every five seconds",
  findAllUnreleased: "once, after a restore",
  findLeftLocks: "every lock: one for each running job, and those of lost jobs",
  listTeamsWithoutAdmin: "every team, by doctor",
  findUntoldLocks: "every lock, as findLeftLocks",
  findStalledRules: "every rule, once a minute",
  findExpiringTokens: "every access token, twice an hour",
  findFirstDue: "every run that waits for its minute, at most every five seconds",
  countDeliveries: "every delivery that waits, at most every five seconds",
  findLogRemoval: "its first row",
  findNewestPlanSummary: "the fifty jobs that it found by an index",
  findAbandoned: "its first row",
  findRemovedHolders: "a step for each worker that holds jobs, once a second",
};
/** Statements of PostgreSQL alone: test/control-plane/store/engines/postgres-plans.process.test.ts. */
const onPostgres = new Set(["claimOwnJobs", "claimAnyJobs"]);
/** Statements that read finished jobs, with the reason why that is acceptable. */
const histories: Record<string, string> = {
  detachSomeJobs: "a bounded part of the history that is removed",
  findRuns: "the last thirty of each configuration on a page",
  findRunsOfWorkers: "the last thirty of each worker on a page",
  findNewestPlanSummary: "the last fifty of a configuration",
  listJobsOfSpec: "a bounded part of the history that moves with its zone",
  listJobsOfZone: "a bounded part of the history that moves with its zone",
  deleteSpec: "the foreign key of jobs that are detached already",
};

const directory = folderForFile();
const file = join(directory, "windlass.db");
let history: History;
beforeAll(async () => {
  history = await fillHistory(directory, { finished: 2000, queued: 50 });
});

const folder = join(import.meta.dirname, "../../../control-plane/store");
const hot: [name: string, statement: Statement<never, unknown>][] = [];
for (const name of await readdir(folder, { recursive: true })) {
  if (!name.endsWith(".ts")) continue;
  const found: Record<string, unknown> = await import(join(folder, name));
  for (const [key, value] of Object.entries(found))
    if (typeof value === "object" && value !== null && "build" in value && !onPostgres.has(key))
      hot.push([key, value as Statement<never, unknown>]);
}

/** A connection that records the statements it prepares. */
class Recorder extends Connection {
  readonly texts: string[] = [];
  override prepare(sql: string): Database.Statement {
    this.texts.push(sql);
    return super.prepare(sql);
  }
}

const planOf = (database: Database.Database, sql: string): string[] =>
  database
    .prepare<string[], { detail: string }>(`explain query plan ${sql}`)
    .all(...sql.matchAll(/\?/g).map(() => "1"))
    .map(({ detail }) => detail);

/** The query plan as the store runs the statement, with its parameters hidden from the planner. */
const hotPlan = (database: Database.Database, { sql }: CompiledStatement): string[] =>
  planOf(database, sql.replaceAll("?", "+?"));

const scansIn = (plan: string[]) =>
  plan.filter(
    (step) =>
      /^SCAN (?!json_each|oldest|searched|counted|has|kinds|classes|whom|begins|events|owners|done|CONSTANT ROW|\(subquery|\w+ VIRTUAL TABLE)/.test(
        step,
      ) && !liveIndexes.test(step),
  );

it("the hot statements are found", () => {
  expect(hot.length).toBeGreaterThan(80);
  const names = new Set(hot.map(([name]) => name));
  expect(Object.keys({ ...scans, ...histories }).filter((name) => !names.has(name))).toEqual([]);
});

describe.each(["without statistics", "after ANALYZE"])("query plans %s", (when) => {
  let connection: Recorder;
  beforeAll(() => {
    const database = new Database(file);
    if (when === "after ANALYZE") database.exec("analyze");
    database.close();
    connection = new Recorder(file, {});
  });
  afterAll(() => connection.database.close());

  it.each(hot)("of %s read no finished job without need", (name, statement) => {
    const plan = hotPlan(connection.database, statement.build(connection.sql));
    // A claim finds a job without sorting.
    if (name.startsWith("claim")) expect(plan.join("\n")).not.toContain("TEMP B-TREE");
    if (!(name in scans)) expect(scansIn(plan)).toEqual([]);
    const ofJobs = plan.filter((step) => /^(SEARCH|SCAN) (jobs|held|busy|j|d)\b/.test(step));
    if (!(name in histories)) expect(ofJobs.filter((step) => !liveIndexes.test(step))).toEqual([]);
  });

  it.each(hot.filter(([name]) => /^(claim|countClaimable)/.test(name)))(
    "of %s count the approvals of a job by its key",
    (_, statement) => {
      const plan = hotPlan(connection.database, statement.build(connection.sql));
      const steps = plan.filter((step) => /\b(gated|vote|planned)\b/.test(step));
      expect(steps.length).toBeGreaterThanOrEqual(3);
      expect(steps.filter((step) => !/sqlite_autoindex_job(s|_approvals)_1/.test(step))).toEqual(
        [],
      );
    },
  );

  it.each(hot.filter(([name]) => /^find(Held|Claimed|LostHolders|Omitted|Unanswered)/.test(name)))(
    "of %s read no finished job of a worker",
    (_, statement) => {
      const plan = hotPlan(connection.database, statement.build(connection.sql)).join("\n");
      expect(plan).toMatch(/jobs_(unreleased_worker|omitted|cancelled)\b/);
    },
  );

  it.each(hot.filter(([name]) => /Archives?$/.test(name) && /^(list|deleteUnnamed)/.test(name)))(
    "of %s read only the workers that name the archive",
    (_, statement) => {
      const plan = hotPlan(connection.database, statement.build(connection.sql));
      expect(plan.filter((step) => /\bworkers\b/.test(step))).toEqual([
        "SEARCH workers USING INDEX workers_archive (<expr>=?)",
      ]);
    },
  );

  const page = { before: "1", limit: 10 };
  const lists: [what: string, (read: Connection) => Promise<unknown>][] = [
    ["zones", (read) => listZones(read, "o", "1", 10)],
    ["configurations", (read) => listSpecIds(read, "o", "1", 10)],
    [
      "configurations of a zone",
      (read) => listSpecIdsOfZone(read, { owner: "o", zone: "z" }, "1", 10),
    ],
    [
      "configurations in short",
      (read) => listSpecSummaries(read, { owner: "o", zone: "z", ...page }),
    ],
    ["drifted configurations", (read) => listDrifted(read, "o", 10)],
    ["configurations by drift", (read) => listSpecIdsByDrift(read, "o", "drifted", "1", 10)],
    ["schedules", (read) => listSchedules(read, "o", {}, "1", 10)],
    [
      "schedules of a configuration",
      (read) => listSchedules(read, "o", { spec: { id: "s", zone: "z" } }, "1", 10),
    ],
    ["schedules of a zone", (read) => listSchedules(read, "o", { zone: "z" }, "1", 10)],
    ["failed configurations", (read) => listFailedSpecs(read, "o", 10)],
    ["configurations with failed checks", (read) => listWarnedSpecs(read, "o", 10)],
    ["users of an identity", (read) => listUsersOfIdentity(read, "i", 10)],
    ["workers", (read) => listWorkerIds(read, "o", "1", 10)],
    ["logins", (read) => listLogins(read, "o", 1, "1", 10)],
    ["cloud identities", (read) => listCloudIdentities(read, "o", "1", 10)],
    ["state versions", (read) => listStateVersions(read, "s", 1, 10)],
    ...[
      {},
      { actor: "p" },
      { action: "job.end" },
      { target: "t" },
      { action: "job.end", target: "t" },
    ].map((filter): [string, (read: Connection) => Promise<unknown>] => [
      `audit entries ${JSON.stringify(filter)}`,
      (read) =>
        listAuditEntries(read, {
          owner: "o",
          ...(filter as { action?: "job.end" }),
          since: 1,
          until: 2,
          before: { id: "1", created_at: 1 },
          limit: 10,
        }),
    ]),
    [
      "end of a search of audit entries",
      (read) => findEndOfSearch(read, { owner: "o", limit: 10 }),
    ],
    ["configurations of jobs", (read) => listConfigurationsOfJobs(read, "o", ["1", "2"])],
    ...[undefined, ...jobStatuses].flatMap((status) =>
      [{}, { zone: "z" }].flatMap((more) =>
        [findJobIds, listJobSummaries].map(
          (list): [string, (read: Connection) => Promise<unknown>] => [
            `${list.name} ${JSON.stringify({ status, ...more })}`,
            (read) => list(read, { owner: "o", status, ...more, ...page }),
          ],
        ),
      ),
    ),
    ...[{}, { configuration: "c" }, { createdBy: "p" }, { status: "FAILED" as const }].flatMap(
      (first) =>
        [
          {},
          { type: "PLAN" as const },
          { name: "n", since: 1, until: 2 },
          { creator: "n", since: 1, until: 2 },
        ].map((second): [string, (read: Connection) => Promise<unknown>] => [
          `found jobs ${JSON.stringify({ ...first, ...second })}`,
          (read) => findJobPage(read, { owner: "o", ...first, ...second, ...page }),
        ]),
    ),
    ...[
      { prefix: "0189" },
      { prefix: "0189", configuration: "c", type: "PLAN" as const },
      { prefix: "0189", createdBy: "p", zone: "z", since: 1, until: 2 },
      { configuration: "c", type: "PLAN" as const, status: "FAILED" as const, createdBy: "p" },
    ].map((filter): [string, (read: Connection) => Promise<unknown>] => [
      `ids of jobs ${JSON.stringify(filter)}`,
      (read) => findJobIds(read, { owner: "o", ...filter, ...page }),
    ]),
    ["jobs of a worker", (read) => findJobIds(read, { owner: "o", worker: "w", ...page })],
    [
      "access tokens",
      (read) => listAccessTokens(read, { owner: "o", creator: undefined, before: "1", limit: 10 }),
    ],
    [
      "registration tokens",
      (read) =>
        listRegistrationTokens(read, {
          owner: "o",
          now: 1,
          before: { created_at: 1, token_hash: "1" },
          limit: 10,
        }),
    ],
    [
      "jobs of a configuration",
      (read) => findJobIds(read, { owner: "o", configuration: "c", ...page }),
    ],
  ];

  it.each(lists)("of a page of %s read a range of an index, in order", async (_, list) => {
    connection.texts.length = 0;
    await list(connection);
    for (const text of connection.texts) {
      const plan = planOf(connection.database, text);
      expect(scansIn(plan)).toEqual([]);
      expect(plan.filter((step) => step.includes("TEMP B-TREE"))).toEqual([]);
    }
    expect(connection.texts.length).toBeGreaterThan(0);
  });

  it("of a page of jobs find their configurations by key, in one statement", async () => {
    connection.texts.length = 0;
    await listJobSummaries(connection, { owner: "o", configuration: "c", ...page });
    const [text = "", ...others] = connection.texts;
    expect(others).toEqual([]);
    const plan = planOf(connection.database, text);
    expect(plan).toContain("SEARCH specs USING INDEX sqlite_autoindex_specs_1 (id=?)");
    expect(plan[0]).toMatch(/^SEARCH jobs USING INDEX jobs_spec /);
  });

  it("of the jobs that wait for a person read only jobs that wait for approvals", async () => {
    connection.texts.length = 0;
    await findJobIds(connection, { owner: "o", approver: "p", ...page });
    const [text = "", ...others] = connection.texts;
    expect(others).toEqual([]);
    const plan = planOf(connection.database, text);
    expect(plan[0]).toMatch(/^SEARCH jobs USING INDEX jobs_unapproved \(owner_id=\?/);
    expect(scansIn(plan)).toEqual([]);
  });

  it("of the beginning of an id read the range of the ids that begin so, within one index", async () => {
    connection.texts.length = 0;
    const filter = { prefix: "0189", since: 1, until: 2, before: "1" };
    await findJobIds(connection, { owner: "o", ...filter, limit: 1 });
    const [text = "", ...others] = connection.texts;
    expect(others).toEqual([]);
    expect(planOf(connection.database, text)).toEqual([
      "SEARCH jobs USING COVERING INDEX jobs_owner (owner_id=? AND id>? AND id<?)",
    ]);
    // A second bound of a kind would be checked row by row.
    expect(text.match(/"jobs"\."id" [<>]/g)).toHaveLength(2);
  });

  it.each(hot.filter(([name]) => /^list(Own)?Waiting/.test(name)))(
    "of %s read only what waits for approvals, by space",
    (_, statement) => {
      const plan = hotPlan(connection.database, statement.build(connection.sql));
      expect(plan.filter((step) => /\bjobs\b/.test(step))).toEqual([
        "SEARCH jobs USING COVERING INDEX jobs_unapproved (owner_id=?)",
      ]);
    },
  );

  it("of counts and summaries of configurations open no definition", async () => {
    connection.texts.length = 0;
    await countSpecsByStatus(connection, history.owner, [history.zone]);
    await listSpecSummaries(connection, { owner: "o", zone: "z", ...page });
    await listJobSummaries(connection, { owner: history.owner, limit: 10 });
    const plans = connection.texts.flatMap((text) => planOf(connection.database, text));
    expect(plans.filter((step) => step.includes("COVERING INDEX specs_summary"))).toHaveLength(2);
    expect(plans.join("\n")).toContain("COVERING INDEX job_snapshots_name");
  });
});
