/**
 * Costs that are a product of two things that a tenant controls (docs/limits.md): each test fills
 * both, and asserts a bound of the work, which does not depend on the machine.
 */
import { sql } from "kysely";
import { v7 as uuid } from "uuid";
import { describe, expect, test } from "vitest";
import { stripRuns, tilesLimit } from "../../control-plane/console/overview/fleet-view.ts";
import { mebibyte } from "../../common/units.ts";
import { votesLimit } from "../../control-plane/services/approvals/approvals.ts";
import { findApprovalNeed } from "../../control-plane/services/approvals/views.ts";
import { endStale } from "../../control-plane/services/approvals/staleness.ts";
import { countWaitingFor, waitingLimit } from "../../control-plane/services/approvals/waiting.ts";
import { listTiles } from "../../control-plane/services/configurations/tiles.ts";
import { storedJson } from "../../control-plane/services/definitions.ts";
import {
  refreshQueue,
  refreshQueueOfVoter,
  type AfterCommit,
} from "../../control-plane/services/job-changes/changes.ts";
import { spreadEvents } from "../../control-plane/services/notifications/spread.ts";
import { rulesLimit } from "../../control-plane/services/notifications/rules.ts";
import { findFormerSecrets } from "../../control-plane/services/states/former-secrets.ts";
import {
  measureStates,
  moveZone,
  StatesChangedError,
} from "../../control-plane/services/zones/moves.ts";
import { listWaitingFor } from "../../control-plane/store/approvals/waiting.ts";
import { countSpecsByStatus } from "../../control-plane/store/configurations/summaries.ts";
import { findJobPage, searchedJobs } from "../../control-plane/store/jobs/lists.ts";
import { listRuns } from "../../control-plane/services/jobs/runs.ts";
import { membersLimit } from "../../control-plane/services/teams/membership.ts";
import { replaceTeamGroups } from "../../control-plane/services/teams/groups.ts";
import { search } from "../../control-plane/services/search/search.ts";
import { approversShown } from "../../protocol/limits.ts";
import { approvalSteps } from "../helpers/people/approvals.ts";
import type { Queries, Store } from "../../control-plane/store/db.ts";
import { callerOf, personalSpace } from "../helpers/people/caller.ts";
import { addMember, addTeam, addTeamSpec } from "../helpers/people/teams.ts";
import { addTestUser } from "../helpers/people/user.ts";
import { readRows, setRows } from "../helpers/plane/plane.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import {
  addJob,
  addOwner,
  addPullRequest,
  addRows,
  addSpec,
  addState,
} from "../helpers/plane/rows.ts";
import { proving } from "../helpers/project/proving.ts";
import { counted } from "../helpers/store/work.ts";

const { plane } = planeForFile();
const many = (moderate: number, large: number) => (proving ? large : moderate);

test("configurations × runs: the overview reads some of both, in three statements", async () => {
  const { store } = plane.context;
  const owner = await addOwner(store);
  const ended = { status: "SUCCESS", ended_at: 1, released_at: 1, claimed_at: 1 } as const;
  for (let count = 0; count < tilesLimit + 5; count += 1) {
    const spec_id = await addSpec(store, owner);
    const runs = many(count < 3 ? stripRuns + 10 : 1, 200);
    for (let run = 0; run < runs; run += 1) await addJob(store, owner, { spec_id, ...ended });
  }
  const { context, work } = counted(plane.context);
  const { tiles } = await listTiles(context, callerOf(owner), [], tilesLimit);
  await listRuns(
    context,
    tiles.map(({ id }) => id),
    stripRuns,
  );
  expect(work.statements).toBe(3);
  expect(work.rows).toBeLessThanOrEqual(2 * tilesLimit + 1 + tilesLimit * stripRuns);
});

test("names × letters: a search reads so many names, whatever the text is", async () => {
  const { store } = plane.context;
  const owner = await addOwner(store);
  const names = Array.from({ length: many(1500, 5000) }, (_, count) => ({
    id: uuid(),
    owner_id: owner.id,
    name: `${String.fromCodePoint(0x410 + (count % 32)).repeat(95)}${count}`,
    created_at: count,
    updated_at: count,
  }));
  await addRows(store, "zones", ...names);
  const letters = Array.from({ length: 100 }, (_, at) => String.fromCodePoint(0x410 + at)).join("");
  const { context, work } = counted(plane.context);
  const caller = { ...callerOf(owner), spaces: [personalSpace(owner)] };
  expect(await search(context, caller, letters)).toEqual([]);
  // Each page reads the first row of the next one too.
  expect(work.rows).toBeLessThanOrEqual(names.length + 10);
  expect(work.statements).toBeLessThanOrEqual(5 + names.length / 1000);
});

describe("waiting jobs × decisions", () => {
  test("a job keeps the decisions of so many people, and those may still change theirs", async () => {
    const { store } = plane.context;
    const admin = await addTestUser(plane);
    const team = await addTeam(plane, admin);
    const { spec, runner } = await addTeamSpec(plane, team.slug);
    const steps = approvalSteps(plane, team.calls, runner, spec);
    await steps.rule({ count: 5 });
    const job = await steps.deploy(await steps.plan());
    const voters = [];
    for (let count = 0; count < votesLimit; count += 1) {
      const user_id = (await addOwner(store)).id;
      const vote = { job_id: job.id, user_id, email: `${user_id}@example.com` };
      await addRows(store, "job_approvals", {
        ...vote,
        decision: "approve",
        comment: null,
        decided_at: 1,
      });
      voters.push(user_id);
    }
    const late = await addMember(plane, admin, team.slug, "deployer");
    const decide = (decision: "approve" | "reject") =>
      ({ params: { id: job.id }, body: { decision } }) as const;
    expect(await late.calls.refusal("decideJob", decide("approve"))).toBe("409 quota_exceeded");
    expect(await readRows(plane, "job_approvals", { job_id: job.id })).toHaveLength(votesLimit);
    await late.calls.call("decideJob", decide("reject"));
    expect((await late.calls.call("getJob", { params: { id: job.id } })).status).toBe("CANCELLED");
    expect(voters).toHaveLength(votesLimit);
  });
});

/** A deployment of a team that waits for an approval, and copies of it. */
async function waitingDeployments(copies: number) {
  const admin = await addTestUser(plane);
  const team = await addTeam(plane, admin);
  const { space, spec, runner } = await addTeamSpec(plane, team.slug);
  const steps = approvalSteps(plane, team.calls, runner, spec);
  await steps.rule({ count: 1 });
  const { id } = await steps.deploy(await steps.plan());
  await copyJob(id, copies);
  await copySnapshots(id);
  const member = await addMember(plane, admin, team.slug, "deployer");
  return { space, spec, id, member };
}

/** Copies a job, with ids before its own. */
const copyJob = (id: string, count: number) =>
  plane.context.store.write(async (tx) => {
    const { rows } = await sql<
      Record<string, unknown>
    >`select * from jobs where id = ${id}`.execute(tx.sql);
    const names = Object.keys(rows[0]!);
    const columns = names.map((name) =>
      name === "id" ? sql`'0000' || (1000000 + i) || ${id}` : sql.ref(`jobs.${name}`),
    );
    await sql`insert into jobs (${sql.join(names.map((name) => sql.ref(name)))})
      with recursive n (i) as (select 1 union all select i + 1 from n where i < ${count})
      select ${sql.join(columns)} from jobs cross join n where jobs.id = ${id}`.execute(tx.sql);
  });
const copySnapshots = (id: string) =>
  plane.context.store.write((tx) =>
    sql`insert into job_snapshots (job_id, config_snapshot, definition_id)
      select jobs.id, config_snapshot, definition_id from jobs cross join job_snapshots
      where job_snapshots.job_id = ${id} and jobs.id like ${`0000%${id}`}`.execute(tx.sql),
  );

test("teams × waiting deployments: a statement finds those of a person among so many", async () => {
  const { space, member } = await waitingDeployments(1100);
  expect(
    await plane.context.store.read.all(listWaitingFor, { user: member.id, limit: 5000 }),
  ).toHaveLength(1000);
  const { context, work } = counted(plane.context);
  const spaces = [{ space_id: space.id }, { space_id: member.id }];
  await countWaitingFor(context, { ...callerOf(member), spaces: spaces as never });
  expect(work).toEqual({ statements: 1, rows: waitingLimit + 1 });
});

/** Lets people who are in no team, and others, have approved a job and its copies. */
const approveCopies = (id: string, users: readonly string[]) =>
  plane.context.store.write((tx) =>
    sql`insert into job_approvals (job_id, user_id, email, decision, comment, decided_at)
      select jobs.id, users.id, users.email, 'approve', null, 1 from jobs cross join users
      where (jobs.id = ${id} or jobs.id like ${`0000%${id}`}) and users.id in (${sql.join(users)})`.execute(
      tx.sql,
    ),
  );

test("waiting deployments × decisions: a changed role or rule takes statements for jobs, not for votes", async () => {
  const { store, now } = plane.context;
  const { space, spec, id, member } = await waitingDeployments(many(150, 999));
  const jobs = many(150, 999) + 1;
  const voters = [member.id];
  while (voters.length < votesLimit) voters.push((await addOwner(store)).id);
  await approveCopies(id, voters);
  const refreshed = async (change: (tx: Queries, wakeups: AfterCommit) => Promise<void>) => {
    const { context, work } = counted(plane.context);
    const wakeups: AfterCommit = [];
    await context.store.write((tx) => change(tx, wakeups));
    expect(wakeups.length).toBeGreaterThanOrEqual(jobs);
    expect(work.statements).toBeLessThanOrEqual(1 + jobs * 6);
    expect(work.rows).toBeLessThanOrEqual(jobs * 6);
    return (await readRows(plane, "jobs", { spec_id: spec, unapproved: 1 })).length;
  };
  const voter = { owner: space.id, user: member.id };
  const ofVoter = () => refreshed((tx, wakeups) => refreshQueueOfVoter(tx, wakeups, voter, now()));
  const ofRule = () =>
    refreshed((tx, wakeups) => refreshQueue(tx, wakeups, { id: spec, owner_id: space.id }, now()));
  expect(await ofVoter()).toBe(0);
  const ofMember = { space_id: space.id, user_id: member.id };
  await setRows(plane, "memberships", { role: "viewer" }, ofMember);
  expect(await ofVoter()).toBe(jobs);
  await setRows(plane, "memberships", { role: "deployer" }, ofMember);
  expect(await ofRule()).toBe(0);
  await setRows(plane, "specs", { approval_count: 5 }, { id: spec });
  expect(await ofRule()).toBe(jobs);
  // The next tests look at all that wait.
  const over = { status: "CANCELLED", unapproved: 0, ended_at: 1, released_at: 1 } as const;
  await setRows(plane, "jobs", over, { spec_id: spec });
});

test("members × authors: those who may approve a job are found by one statement", async () => {
  const { store } = plane.context;
  const { space, spec, id } = await waitingDeployments(1);
  const people = Array.from({ length: membersLimit }, (_, at) => {
    const user = uuid();
    return { id: user, email: `${String(at).padStart(4, "0")}-${user}@example.com`, created_at: 1 };
  });
  const row = { space_id: space.id, role: "deployer", joined_at: 1, invited_role: "deployer" };
  await addRows(store, "users", ...people);
  await addRows(
    store,
    "memberships",
    ...people.map(
      ({ id: user_id }) =>
        ({
          ...row,
          user_id,
          zones: "{}",
          invited_zones: "{}",
          group_zones: "{}",
          group_names: "[]",
        }) as never,
    ),
  );
  // The first four: who created the deployment and its plan, opened the pull request and pushed to it.
  const [creator = "", planner = "", opener = "", pusher = ""] = people.map((one) => one.id);
  const { plan_job_id } = (await readRows(plane, "jobs", { id }))[0]!;
  await setRows(plane, "jobs", { creator_id: creator }, { id });
  await setRows(plane, "jobs", { creator_id: planner }, { id: plan_job_id! });
  await setRows(plane, "specs", { approval_by_author: 0 }, { id: spec });
  const connection_id = uuid();
  await addRows(store, "connections", {
    id: connection_id,
    owner_id: space.id,
    name: "git",
    kind: "forgejo",
    base_url: "https://git.example.com",
    api_url: "https://git.example.com/api/v1",
    status_name: "windlass",
    poll_seconds: 60,
    secrets: "{}",
    poll_at: Number.MAX_SAFE_INTEGER,
    busy_until: 0,
    quiet_until: 0,
    created_at: 1,
    updated_at: 1,
  } as never);
  const accounts = { provider: "forgejo", host: "git.example.com", email: "x@example.com" };
  for (const [subject, user_id] of [
    ["1", opener],
    ["2", pusher],
  ] as const)
    await addRows(store, "accounts", {
      ...accounts,
      subject,
      user_id,
      access_token: "",
      created_at: 1,
      signed_in_at: 1,
    } as never);
  const pull = { owner_id: space.id, connection_id, author_id: "1", pusher_id: "2", post_at: null };
  const { id: pull_request_id, head_commit } = await addPullRequest(store, pull);
  await addRows(store, "job_changes", {
    job_id: id,
    connection_id,
    pull_request_id,
    spec_id: spec,
    commit_id: head_commit,
    change: "{}",
    withheld: "[]",
    settings_hash: "",
    posted_status: null,
    post_error: null,
    post_at: null,
  });
  const { context, work } = counted(plane.context);
  const job = (await readRows(plane, "jobs", { id }))[0]!;
  const need = await findApprovalNeed(context.store.read, job);
  expect(need?.approvers).toEqual(people.slice(4, 4 + approversShown).map(({ email }) => email));
  expect(need?.more_approvers).toBe(true);
  expect(work.statements).toBeLessThanOrEqual(3);
  expect(work.rows).toBeLessThanOrEqual(approversShown + 1 + 3);
});

test("waiting deployments × size of their definitions: a round without a change makes no hash", async () => {
  const { id } = await waitingDeployments(20);
  await endStale(plane.context);
  const { context, work } = counted(plane.context);
  expect(await endStale(context)).toBe(0);
  // Those of the other tests too.
  const { length: waiting } = await readRows(plane, "jobs", { unapproved: 1 });
  expect((await readRows(plane, "jobs", { id }))[0]?.status).toBe("QUEUED");
  expect(waiting).toBeGreaterThan(20);
  expect(work.statements).toBeLessThan(waiting * 12);
});

test("jobs × letters of a filter: a page searches so many jobs, and says how far", async () => {
  const { store } = plane.context;
  const owner = await addOwner(store);
  const job = await addJob(store, owner, { job_type: "PLAN" });
  await copyJob(job.id, searchedJobs + 100);
  const filter = { owner: owner.id, name: "ab".repeat(50), limit: 20 };
  const { context, work } = counted(plane.context);
  const page = await findJobPage(context.store.read, filter);
  expect(page).toMatchObject({ jobs: [], searchedUntil: expect.any(Number) });
  const rest = await findJobPage(context.store.read, { ...filter, before: page.next });
  expect(rest).toEqual({ jobs: [], next: undefined, searchedUntil: undefined });
  expect(work.rows).toBeLessThan(20);
});

describe("deployments × former sensitive values, at a claim", () => {
  const claimed = async (snapshot: string, count: number) => {
    const { store } = plane.context;
    const owner = await addOwner(store);
    const spec_id = await addSpec(store, owner);
    for (let at = 1; at <= count; at += 1) {
      const ended = { status: "FAILED", started_at: at, claimed_at: at, ended_at: at } as const;
      const { id } = await addJob(store, owner, {
        spec_id,
        job_type: "DEPLOY",
        config_hash: "x",
        ...ended,
      });
      await store.write((tx) =>
        tx.sql
          .updateTable("job_snapshots")
          .set({ config_snapshot: storedJson(snapshot) })
          .where("job_id", "=", id)
          .execute(),
      );
    }
    const { id } = await addJob(store, owner, { spec_id, job_type: "PLAN" });
    const { context, work } = counted(plane.context);
    const job = { id, spec_id, deployed_backend: null, config_snapshot: '{"sensitive":true}' };
    expect(await findFormerSecrets(context, job as never)).toEqual([]);
    return work;
  };
  const sealed = (bytes: number) =>
    JSON.stringify({ variables: { a: { sealed: "x".repeat(bytes), sensitive: true } } });

  test("so many of them are read", async () => {
    expect((await claimed(sealed(10), 70)).rows).toBeLessThanOrEqual(50);
  });
  test("of large ones, so many bytes are read", async () => {
    // Each has a row of its own, and one of the job.
    expect((await claimed(sealed(mebibyte), many(12, 40))).rows).toBeLessThanOrEqual(2 * 9);
  });
});

test("events × rules: a transaction has the deliveries of so many events", async () => {
  const { store } = plane.context;
  const owner = await addOwner(store);
  for (let count = 0; count < rulesLimit; count += 1)
    await addRows(store, "notification_rules", {
      id: uuid(),
      owner_id: owner.id,
      name: `rule ${count}`,
      kind: "email",
      events: '["job.*"]',
      zone_id: null,
      spec_id: null,
      stalled_minutes: 60,
      enabled: 1,
      host: null,
      // Nothing is sent.
      addresses: "[]",
      secrets: "{}",
      error: null,
      error_since: null,
      created_at: 1,
      updated_at: 1,
    });
  const events = many(50, 1000);
  const found: number[] = [];
  const watch = (tx: Queries): Queries => ({
    sql: tx.sql,
    first: (statement, params) => tx.first(statement, params),
    run: (statement, params) => tx.run(statement, params),
    all: async (statement, params) => {
      const rows = await tx.all(statement, params);
      if (rows.some((row) => "event_id" in (row as object))) found.push(rows.length);
      return rows;
    },
  });
  const write: Store["write"] = (body) => store.write((tx) => body(watch(tx)));
  const row = {
    owner_id: owner.id,
    sequence: null,
    type: "job.succeeded",
    zone_id: null,
    zone_name: null,
    spec_id: null,
    spec_name: null,
    job_id: null,
    job: null,
    actor: null,
    about: null,
    data: "{}",
    rule_id: null,
    once: null,
    created_at: plane.context.now(),
  };
  const ids = Array.from({ length: events }, () => uuid());
  await addRows(store, "events", ...ids.map((event_id) => ({ ...row, event_id })));
  const watched = { read: store.read, write } as Store;
  await spreadEvents({ store: watched, now: plane.context.now });
  expect(Math.max(0, ...found)).toBeLessThanOrEqual(20);
  // The server's own round may have taken some.
  expect(await readRows(plane, "deliveries", { owner_id: owner.id })).toHaveLength(
    events * rulesLimit,
  );
  await setRows(plane, "notification_rules", { enabled: 0 }, { owner_id: owner.id });
});

test("zones × configurations: a page of zones counts them in one statement", async () => {
  const { store } = plane.context;
  const owner = await addOwner(store);
  const zones = [owner.zone];
  for (let count = 0; count < 50; count += 1) {
    const zone = {
      id: uuid(),
      owner_id: owner.id,
      name: `z${count}`,
      created_at: 1,
      updated_at: 1,
    };
    await addRows(store, "zones", zone);
    zones.push(zone.id);
  }
  for (let count = 0; count < many(200, 10_000); count += 1)
    await addSpec(store, { id: owner.id, zone: zones[count % zones.length]! });
  const { context, work } = counted(plane.context);
  const counts = await countSpecsByStatus(context.store.read, owner.id, zones);
  expect(counts.reduce((sum, { count }) => sum + count, 0)).toBe(many(200, 10_000));
  expect(work).toEqual({ statements: 1, rows: zones.length });
});

describe("configurations × versions of their states, when a zone moves", () => {
  const filled = async () => {
    const { store } = plane.context;
    const [owner, target] = [await addOwner(store), await addOwner(store)];
    for (let count = 0; count < many(250, 10_000); count += 1) {
      const spec_id = await addSpec(store, owner);
      for (let version = 0; version < many(3, 100); version += 1)
        await addState(store, { spec_id, blob: uuid(), size_bytes: 7 });
    }
    const state_bytes = many(250, 10_000) * many(3, 100) * 7;
    await setRows(plane, "zones", { name: "moves" }, { id: owner.zone });
    return { owner, target, state_bytes };
  };

  test("they are added up in pages, before the transaction", async () => {
    const { owner, state_bytes } = await filled();
    const { context, work } = counted(plane.context);
    const move = { zone: owner.zone, from: owner.id };
    expect((await measureStates(context, move)).bytes).toBe(state_bytes);
    expect(work.statements).toBeLessThanOrEqual(1 + 2 * (1 + many(250, 10_000) / 200));
    expect(work.rows).toBeLessThanOrEqual(2 * many(250, 10_000));
  });

  test("a version that is stored meanwhile makes the move add up again", async () => {
    const { owner, target, state_bytes } = await filled();
    const { context } = plane;
    const move = { zone: owner.zone, from: owner.id };
    const states = await measureStates(context, move);
    const spec_id = await addSpec(context.store, owner);
    await addState(context.store, { spec_id, blob: uuid(), size_bytes: 5 });
    const to = { space_id: target.id, slug: "to", role: "admin" } as const;
    const zone = { id: owner.zone, name: "moves" };
    const caller = { ...callerOf(owner), spaces: [personalSpace(owner), to] as never };
    await expect(
      context.store.write((tx) => moveZone(context, tx, caller, zone, to as never, states)),
    ).rejects.toThrow(StatesChangedError);
    expect((await measureStates(context, move)).bytes).toBe(state_bytes + 5);
  });
});

test("people × groups of a team: a change of the groups joins so many, and looks at each page once", async () => {
  const admin = await addTestUser(plane);
  const { slug } = await addTeam(plane, admin);
  const { id } = (await readRows(plane, "teams", { slug }))[0]!;
  const { store } = plane.context;
  const issuer = "https://id.example.com";
  const providers = { oidc: { baseUrl: issuer, clientId: "c", clientSecret: "s" } };
  const groups = JSON.stringify(Array.from({ length: many(20, 250) }, (_, n) => `group-${n}`));
  const people = membersLimit + many(300, 10_000);
  for (let count = 0; count < people; count += 100) {
    const users = Array.from({ length: 100 }, () => {
      const user = uuid();
      return { id: user, email: `${user}@example.com`, created_at: 1 };
    });
    await addRows(store, "users", ...users);
    await addRows(
      store,
      "accounts",
      ...users.map((user) => ({
        provider: "oidc" as const,
        host: "id.example.com",
        subject: user.id,
        user_id: user.id,
        email: user.email,
        groups,
        groups_at: 1,
        access_token: "",
        refresh_token: null,
        token_expires_at: null,
        created_at: 1,
        signed_in_at: 1,
      })),
    );
  }
  const { context, work } = counted({ ...plane.context, providers: providers as never });
  const space = { space_id: id, slug, role: "admin" as const };
  const caller = { ...callerOf(admin.owner), ...space, spaces: [] };
  const admitted = Array.from({ length: 20 }, (_, n) => n).map((n) => ({
    issuer: "oidc",
    group: `group-${n}`,
    role: "viewer" as const,
  }));
  await replaceTeamGroups(context, caller, { groups: admitted });
  expect(await readRows(plane, "memberships", { space_id: id })).toHaveLength(membersLimit);
  // Those who join, the others of whom none is looked at, and the pages of all.
  expect(work.statements).toBeLessThan(membersLimit * 16 + people / 200 + 100);
  expect(work.rows).toBeLessThan(membersLimit * 60 + people + 1000);
  const again = counted({ ...plane.context, providers: providers as never });
  await replaceTeamGroups(again.context, caller, { groups: [] });
  expect(await readRows(plane, "memberships", { space_id: id })).toHaveLength(1);
  expect(again.work.statements).toBeLessThan(membersLimit * 16 + people / 200 + 100);
});
