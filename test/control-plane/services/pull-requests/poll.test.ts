/** What pushes and pull requests start, with a stand-in of Forgejo that sends no events. */
import { afterAll, beforeAll, describe, expect } from "vitest";
import { hintLook } from "../../../../control-plane/store/connections/follows.ts";
import { pollConnections } from "../../../../control-plane/services/pull-requests/poll.ts";
import { openPostgresBeside } from "../../../../control-plane/store/engines/postgres.ts";
import { startForgejo } from "../../../helpers/hosts/forgejo.ts";
import { follow } from "../../../helpers/hosts/followed.ts";
import { readRow, readRows, setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addRule } from "../../../helpers/plane/rows.ts";
import type { EventData } from "../../../../protocol/notification-events.ts";

let host: Awaited<ReturnType<typeof startForgejo>>;
beforeAll(async () => {
  host = await startForgejo({ full: ["write:repository", "write:issue"] });
});
afterAll(() => host[Symbol.asyncDispose]());

const { it, plane } = planeForFile({ WINDLASS_OUTBOUND_ALLOW: "127.0.0.0/8" });
/** The features of a runner that may run all jobs of connections. */
const able = JSON.stringify(["merge", "plan_digest", "source_access"]);
const rowsOf = (connection: string) =>
  readRows(plane, "pull_requests", { connection_id: connection });

describe("a push", () => {
  it("starts nothing at the first look, then plans what it touches", async ({ client, owner }) => {
    const { repository, look, configure, jobs, push, connection } = await follow(
      plane,
      host,
      client,
      owner,
    );
    const network = await configure("network", {}, { trigger_paths: ["/shared/*.tf"] });
    const dns = await configure("dns");
    await look();
    expect([await jobs(network), await jobs(dns)]).toEqual([[], []]);
    const shown = await client.call("getConfiguration", { params: { name: network } });
    expect(shown.follow?.seen_commit).toBe(repository.branches.get("main"));
    const commit = push(["network/main.tf", "README.md"]);
    await look();
    const [job] = await jobs(network);
    expect(job).toMatchObject({
      job_type: "PLAN",
      created_by: expect.stringMatching(/^git-\d+ \(connection\)$/),
      own_source: true,
      config_snapshot: { source: { ref: commit, path: "network" } },
      change: {
        connection_id: connection,
        repository: repository.full_name,
        branch: "main",
        commit,
        pull_request: null,
        url: `${host.url}/${repository.full_name}/commit/${commit}`,
      },
      change_state: "pending",
      withheld: [],
    });
    const audited = await client.call("listAuditEntries", { query: { target_id: job!.id } });
    expect(audited.audit_entries.map(({ actor }) => actor.kind)).toEqual(["connection"]);
    push(["shared/a.tf"]);
    await look();
    await look();
    expect((await jobs(network)).map(({ status }) => status)).toEqual(["CANCELLED", "QUEUED"]);
    expect(await jobs(dns)).toEqual([]);
    // A force push: the commit before is gone, so that everything may have changed.
    repository.branches.set("main", "f".repeat(40));
    await look();
    expect([(await jobs(network)).length, (await jobs(dns)).length]).toEqual([3, 1]);
    // A deleted branch starts nothing.
    repository.branches.delete("main");
    await look();
    expect(await client.call("getConnection", { params: { id: connection } })).toMatchObject({
      error: null,
    });
    expect((await jobs(network)).length).toBe(3);
  });

  it("deploys its plan once, after approvals, and supersedes a deployment that waits", async ({
    client,
    owner,
  }) => {
    const { look, configure, jobs, push, planned } = await follow(plane, host, client, owner);
    const approval = { when: "always", count: 1 } as const;
    const id = await configure("network", { approval }, { push: "deploy" });
    await look();
    const first = push(["network/main.tf"]);
    await look();
    await look();
    const [plan] = await jobs(id);
    await planned(plan!.id);
    await look();
    await look();
    expect((await jobs(id)).map((job) => [job.job_type, job.status])).toEqual([
      ["PLAN", "SUCCESS"],
      ["DEPLOY", "QUEUED"],
    ]);
    const [, deploy] = await jobs(id);
    expect(deploy).toMatchObject({
      plan_job_id: plan!.id,
      waiting_reason: "waits for 1 approval by a deployer",
      change: { commit: first },
    });
    push(["README.md"]);
    await look();
    expect((await jobs(id)).at(-1)).toMatchObject({ id: deploy!.id, status: "QUEUED" });
    push(["network/main.tf"]);
    await look();
    expect((await jobs(id)).map((job) => [job.job_type, job.status])).toEqual([
      ["PLAN", "SUCCESS"],
      ["DEPLOY", "CANCELLED"],
      ["PLAN", "QUEUED"],
    ]);
    await planned((await jobs(id)).at(-1)!.id, { applyable: false });
    await look();
    expect(await jobs(id)).toHaveLength(3);
  });

  it("does not take the commit over into the configuration", async ({
    client,
    owner,
    runner,
    worker,
  }) => {
    const { look, configure, jobs, push, planned } = await follow(plane, host, client, owner);
    const id = await configure("network", {}, { push: "deploy" });
    await look();
    push(["network/main.tf"]);
    await look();
    await planned((await jobs(id))[0]!.id);
    await look();
    const deploy = (await jobs(id))[1]!;
    await setRows(plane, "workers", { features: able }, { id: worker.id });
    const { job } = await runner.call("claimJob");
    expect(job.id).toBe(deploy.id);
    await runner.call("reportStatus", { params: job, body: { status: "PROCESSING" } });
    const { source, follow: followed } = await client.call("getConfiguration", {
      params: { name: id },
    });
    expect(source).toMatchObject({ ref: "main" });
    expect(followed?.branch).toBe("main");
  });
});

describe("a pull request", () => {
  it("is planned for each configuration that it touches, once for a commit", async ({
    client,
    owner,
  }) => {
    const { connection, repository, look, configure, jobs, open, planned } = await follow(
      plane,
      host,
      client,
      owner,
    );
    const network = await configure("network");
    const dns = await configure("dns");
    const pull = open(7, ["network/main.tf"]);
    await look();
    const [job] = await jobs(network);
    expect(await jobs(dns)).toEqual([]);
    expect(job).toMatchObject({
      job_type: "PLAN",
      status: "QUEUED",
      config_snapshot: { source: { ref: pull.sha } },
      change: {
        branch: "main",
        commit: pull.sha,
        base_commit: repository.branches.get("main"),
        pull_request: { number: 7, title: "Change 7", author: "grace", is_fork: false },
      },
    });
    await look();
    expect(await jobs(network)).toHaveLength(1);
    const old = pull.sha;
    pull.sha = "e".repeat(40);
    pull.files.push("dns/a.tf");
    await look();
    expect((await jobs(network)).map(({ status, change }) => [status, change?.commit])).toEqual([
      ["CANCELLED", old],
      ["QUEUED", pull.sha],
    ]);
    // A running plan is not cancelled.
    const running = (await jobs(dns))[0]!;
    await setRows(plane, "jobs", { status: "PROCESSING", started_at: 1 }, { id: running.id });
    pull.sha = "d".repeat(40);
    await look();
    expect((await jobs(dns)).map(({ status }) => status)).toEqual(["PROCESSING", "QUEUED"]);
    // The local modules of the last plan count too.
    await planned((await jobs(dns))[1]!.id, { local_modules: ["../modules/zone"] });
    open(8, ["modules/zone/main.tf"]);
    await look();
    expect((await jobs(dns)).at(-1)?.change?.pull_request?.number).toBe(8);
    Object.assign(pull, { state: "closed", merge: "9".repeat(40) });
    repository.branches.set("main", "9".repeat(40));
    await look();
    const rows = await rowsOf(connection);
    expect(rows.find(({ number }) => number === 7)).toMatchObject({
      state: "merged",
      merged_commit: "9".repeat(40),
    });
    expect((await jobs(network)).at(-1)?.change).toMatchObject({
      commit: "9".repeat(40),
      pull_request: { number: 7 },
    });
  });

  it("is over when it was deleted, and planned again after it was closed and reopened", async ({
    client,
    owner,
  }) => {
    const { connection, repository, stored, look, configure, jobs, open } = await follow(
      plane,
      host,
      client,
      owner,
    );
    const id = await configure("network");
    const pull = open(1, ["network/a.tf"]);
    open(2, ["network/b.tf"]);
    await look();
    repository.pulls.delete(2);
    pull.state = "closed";
    await look();
    expect((await rowsOf(connection)).map(({ state }) => state)).toEqual(["closed", "closed"]);
    expect((await jobs(id)).map(({ status }) => status)).toEqual(["CANCELLED", "CANCELLED"]);
    expect((await stored()).error).toBeNull();
    pull.state = "open";
    await look();
    expect(
      Object.fromEntries((await rowsOf(connection)).map(({ number, state }) => [number, state])),
    ).toEqual({ 1: "open", 2: "closed" });
    expect(await jobs(id)).toHaveLength(3);
  });

  it("of so many files that the host does not list them all is planned", async ({
    client,
    owner,
  }) => {
    const { look, configure, jobs, open } = await follow(plane, host, client, owner);
    const id = await configure("network");
    open(
      1,
      Array.from({ length: 10_000 }, (_, n) => `docs/${n}.md`),
    );
    await look();
    expect(await jobs(id)).toHaveLength(1);
  });

  it("starts nothing as a draft, with [skip windlass], or without a configuration's files", async ({
    client,
    owner,
  }) => {
    const { connection, look, configure, jobs, open } = await follow(plane, host, client, owner);
    const id = await configure("network");
    const draft = open(1, ["network/a.tf"], { isDraft: true });
    open(2, ["network/a.tf"], { title: "Wip [SKIP windlass]" });
    open(3, ["README.md"]);
    await look();
    const reasons = async () =>
      Object.fromEntries((await rowsOf(connection)).map((row) => [row.number, row.skipped]));
    expect(await reasons()).toEqual({
      1: "it is a draft",
      2: "its title says [skip windlass]",
      3: "it changes no files of a configuration",
    });
    expect(await jobs(id)).toEqual([]);
    draft.isDraft = false;
    await look();
    expect((await jobs(id)).map(({ change }) => change?.pull_request?.number)).toEqual([1]);
    expect((await reasons())[1]).toBeNull();
    // The aggregate status of a pull request onto another branch must say something too.
    open(4, ["network/a.tf"], { base: "release" });
    await look();
    expect((await reasons())[4]).toBe("no configuration follows release");
    // A configuration that follows later plans what is open, and the others not again.
    const other = await configure("docs", { source: undefined }, {}).catch(() => undefined);
    expect(other).toBeUndefined();
    const late = await configure("late", {}, { trigger_paths: ["network/"] });
    await look();
    await look();
    expect([(await jobs(id)).length, (await jobs(late)).length]).toEqual([1, 1]);
  });

  it("of a fork is planned only with an approval of that commit", async ({ client, owner }) => {
    const { connection, look, configure, jobs, open } = await follow(plane, host, client, owner);
    const off = await configure("network");
    const pull = open(1, ["network/a.tf"], { isFork: true });
    await look();
    expect((await rowsOf(connection))[0]).toMatchObject({ skipped: "plans of forks are off" });
    const careful = await configure("dns", {}, { forks: "approved", trigger_paths: ["network"] });
    await addRule(plane.context.store, owner, { events: '["approval.needed"]' });
    await look();
    await look();
    const told = async () =>
      (await readRows(plane, "events", { owner_id: owner.id })).map(({ type, spec_id, data }) => {
        const { name, commit, url } = (JSON.parse(data) as EventData).pull_request!;
        return [type, spec_id, name, commit, url];
      });
    const [{ id: pull_id, repository } = { id: "", repository: "" }] = await rowsOf(connection);
    const needed = ["approval.needed", careful, `${repository}#${pull.number}`];
    const page = `${plane.url}/pull-requests/${pull_id}`;
    expect(await told()).toEqual([[...needed, pull.sha, page]]);
    const [row] = await rowsOf(connection);
    expect(row).toMatchObject({ skipped: null, planned_commit: null });
    await setRows(plane, "pull_requests", { approved_commit: pull.sha }, { id: row!.id });
    await look();
    expect([(await jobs(off)).length, (await jobs(careful)).length]).toEqual([0, 1]);
    const before = pull.sha;
    pull.sha = "1".repeat(40);
    await look();
    expect((await jobs(careful)).map(({ status }) => status)).toEqual(["CANCELLED"]);
    // The newer commit waits again.
    expect((await told()).map((event) => event[3])).toEqual([before, pull.sha]);
  });

  it("leaves the status of its configuration alone, and keeps its change when it is repeated", async ({
    client,
    owner,
    runner,
    worker,
  }) => {
    const { look, configure, jobs, open } = await follow(plane, host, client, owner);
    const id = await configure("network");
    open(1, ["network/a.tf"]);
    await look();
    const [queued] = await jobs(id);
    await setRows(plane, "workers", { features: able }, { id: worker.id });
    await setRows(
      plane,
      "job_changes",
      { post_at: null, posted_status: "x" },
      { job_id: queued!.id },
    );
    const { job } = await runner.call("claimJob");
    await runner.call("reportStatus", { params: job, body: { status: "PROCESSING" } });
    expect((await readRow(plane, "job_changes", { job_id: job.id })).post_at).not.toBeNull();
    await runner.call("reportStatus", {
      params: job,
      body: { status: "FAILED", error_message: "broken" },
    });
    const params = { name: id };
    expect(await client.call("getConfiguration", { params })).toMatchObject({
      status: "NEW",
      error_message: null,
      failed_job: null,
    });
    const again = await client.call("retryJob", { params: { id: job.id } });
    expect(again.change).toEqual(queued!.change);
    expect(again.created_by).not.toMatch(/connection/);
  });

  it("hands its runner the merge, the access to its source alone, and a key for its digest", async ({
    client,
    owner,
    runner,
    worker,
  }) => {
    const { repository, look, configure, jobs, open } = await follow(plane, host, client, owner);
    const variables = { password: { value: "x", sensitive: true } };
    const id = await configure("network", { variables });
    const pull = open(5, ["network/a.tf"]);
    await look();
    const [{ id: plan } = { id: "" }] = await jobs(id);
    expect((await readRow(plane, "jobs", { id: plan })).features).toBe(able);
    expect(await runner.ask("claimJob")).toBeNull();
    await setRows(plane, "workers", { features: able }, { id: worker.id });
    const { job } = await runner.call("claimJob");
    const access = { username: "windlass", token: "full", expires_at: null };
    expect(job).toMatchObject({
      id: plan,
      config_snapshot: { source: { ref: pull.sha } },
      source_access: access,
      merge: {
        base_branch: "main",
        base_commit: repository.branches.get("main"),
        head_ref: "refs/pull/5/head",
      },
      withheld: ["password"],
      plan_digest_key: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    await runner.call("reportStatus", { params: job, body: { status: "FAILED" } });
    const elsewhere = { type: "git", url: `${host.url}/ada/other.git` } as const;
    for (const source of [undefined, elsewhere]) {
      const own = source ? { source } : {};
      await client.call("createJob", {
        body: { job_type: "PLAN", configuration_id: id, ...own },
      });
      const { job: asked } = await runner.call("claimJob");
      expect([asked.source_access, asked.merge, asked.withheld]).toEqual([
        source ? undefined : access,
        undefined,
        undefined,
      ]);
      expect(asked.plan_digest_key).toBe(job.plan_digest_key);
      await runner.call("reportStatus", { params: asked, body: { status: "FAILED" } });
    }
  });

  it("gets the values that its configuration gives, and no cloud identity", async ({
    client,
    owner,
  }) => {
    const { look, configure, jobs, open } = await follow(plane, host, client, owner);
    const variables = { size: { value: 1 }, password: { value: "hush-4711", sensitive: true } };
    const environment = { TOKEN: "hush-4712", REGION: "eu" };
    const values = { variables, environment };
    const plain = await configure("plain", values);
    const none = await configure("none", values, { values: "none" });
    const all = await configure("all", values, { values: "all" });
    open(1, ["plain/a.tf", "none/a.tf", "all/a.tf"]);
    await look();
    const withheld = async (id: string) => {
      const job = (await jobs(id))[0]!;
      const { config_snapshot: stored } = await readRow(plane, "job_snapshots", { job_id: job.id });
      const { variables: given = {}, environment: texts = {} } = JSON.parse(stored) as Record<
        string,
        object
      >;
      return [job.withheld, [...Object.keys(given), ...Object.keys(texts)].toSorted()];
    };
    expect(await withheld(plain)).toEqual([
      ["TOKEN", "password"],
      ["REGION", "size"],
    ]);
    expect(await withheld(none)).toEqual([["REGION", "TOKEN", "password", "size"], []]);
    expect(await withheld(all)).toEqual([[], ["REGION", "TOKEN", "password", "size"]]);
    await client.call("cancelJob", { params: { id: (await jobs(none))[0]!.id } });
    const again = await client.call("retryJob", { params: { id: (await jobs(none))[0]!.id } });
    expect(again.withheld).toEqual(["REGION", "TOKEN", "password", "size"]);
    const hashes = await readRows(plane, "job_changes", { spec_id: none });
    expect(new Set(hashes.map((row) => row.settings_hash)).size).toBe(1);
  });
});

describe("a look", () => {
  it("is all that an event starts, in whatever order and shape events come", async ({
    client,
    owner,
  }) => {
    const { connection, repository, stored, look, configure, jobs, open } = await follow(
      plane,
      host,
      client,
      owner,
    );
    const { webhook_secret } = await client.call("rotateConnectionSecret", {
      params: { id: connection },
      body: { overlap_seconds: 0 },
    });
    const id = await configure("network");
    await look();
    open(1, ["network/a.tf"]);
    const of = { repository: { id: repository.id } };
    const events = [
      host.event("pull_request", { ...of, action: "closed" }, webhook_secret),
      host.event("push", { ...of, after: "0".repeat(40), commits: null }, webhook_secret),
      host.event("pull_request", { ...of, action: "opened" }, webhook_secret),
      host.event("pull_request", [null], webhook_secret),
    ];
    for (const { headers, body } of [...events, events[0]!]) {
      const url = `${plane.url}/api/events/${connection}`;
      expect((await fetch(url, { method: "POST", headers, body })).status).toBe(202);
    }
    // At once, or three seconds after the last look.
    expect((await stored()).poll_at).toBeLessThan(plane.context.now() + 10_000);
    for (const _ of [1, 2]) await look();
    expect(await jobs(id)).toHaveLength(1);
    expect((await stored()).error).toBeNull();
    const [{ headers } = { headers: {} }] = events;
    const enormous = { method: "POST", headers, body: " ".repeat(5 * 1024 * 1024 + 1) };
    const refused = await fetch(`${plane.url}/api/events/${connection}`, enormous);
    expect(refused.status).toBe(413);
  });

  it("is at the repository of an event alone, and at one that failed sooner than at the others", async ({
    client,
    owner,
  }) => {
    const { repository, connection, stored, configure, look, due } = await follow(
      plane,
      host,
      client,
      owner,
    );
    const other = host.addRepository(`${repository.full_name}-other`);
    other.branches.set("main", "a".repeat(40));
    await configure("network");
    await client.call("createConfiguration", {
      body: {
        name: "other",
        zone_id: owner.zone,
        source: { type: "git", url: `${host.url}/${other.full_name}.git` },
        follow: { connection_id: connection },
      },
    });
    await look();
    const poll = async () => {
      const before = host.requests.length;
      await pollConnections(plane.context, new AbortController().signal);
      const asked = host.requests.slice(before);
      return [repository, other].map(({ id }) =>
        asked.some((one) => one.endsWith(`/repositories/${id}`)),
      );
    };
    expect(await poll()).toEqual([false, false]);
    await plane.context.store.write((tx) => hintLook(tx, connection, 1, String(other.id)));
    expect(await poll()).toEqual([false, true]);
    Object.assign(other, { id: 7777 });
    await due();
    expect(await poll()).toEqual([true, false]);
    const now = plane.context.now();
    const [own, failed] = [
      await readRow(plane, "follows", { repository_id: String(repository.id) }),
      await readRow(plane, "follows", { repository: other.full_name }),
    ];
    expect(own.look_at - now).toBeGreaterThan(80_000_000);
    expect(failed.look_at - now).toBeLessThanOrEqual(60_000);
    expect(await stored()).toMatchObject({
      poll_at: failed.look_at,
      error: expect.stringContaining("404"),
    });
    // A space has one turn at a time.
    await due();
    await setRows(plane, "connections", { busy_until: now + 60_000 }, { id: connection });
    const second = await follow(plane, host, client, owner);
    await second.configure("third");
    await second.due();
    expect(await poll()).toEqual([false, false]);
    expect((await second.stored()).last_poll_at).toBeNull();
    await setRows(plane, "connections", { busy_until: 0 }, { id: connection });
  });

  it("knows a renamed repository", async ({ client, owner }) => {
    const { repository, connection, look, configure, jobs, push } = await follow(
      plane,
      host,
      client,
      owner,
    );
    const id = await configure("network");
    await look();
    repository.full_name = `${repository.full_name}-renamed`;
    push(["network/a.tf"]);
    await look();
    expect((await jobs(id))[0]?.change?.repository).toBe(repository.full_name);
    expect(await readRow(plane, "follows", { connection_id: connection })).toMatchObject({
      repository: repository.full_name,
    });
  });

  it("shows what is wrong, and loses nothing", async ({ client, owner }) => {
    const { stored, look, due, configure, jobs, push } = await follow(plane, host, client, owner);
    const id = await configure("network");
    await look();
    push(["network/a.tf"]);
    for (const [answer, message, least] of [
      [{ status: 502, text: "<html>" }, /answers 502/, 0],
      [{ status: 200, text: "<html>" }, /not JSON/, 0],
      [{ status: 401 }, /wrong, revoked or expired/, 0],
      [{ status: 403, headers: { "retry-after": "120" } }, /rate limit/, 100_000],
    ] as const) {
      host.fault.answer = answer;
      await due();
      await pollConnections(plane.context, new AbortController().signal);
      const { error, quiet_until, poll_at } = await stored();
      const now = plane.context.now();
      expect(error).toMatch(message);
      expect(quiet_until - now).toBeLessThanOrEqual(120_000);
      expect(Math.max(0, quiet_until - now)).toBeGreaterThanOrEqual(least);
      expect(poll_at).toBeGreaterThan(now);
    }
    delete host.fault.answer;
    expect(await jobs(id)).toEqual([]);
    await look();
    expect(await jobs(id)).toHaveLength(1);
    expect((await stored()).error).toBeNull();
  });

  it("queues everything once, when servers look together or one is cut off", async ({
    client,
    owner,
  }) => {
    const { connection, look, due, configure, jobs, open, push } = await follow(
      plane,
      host,
      client,
      owner,
    );
    const ids = [await configure("a"), await configure("b")];
    await look();
    open(1, ["a/x.tf", "b/x.tf"]);
    push(["a/y.tf", "b/y.tf"]);
    const { signal } = new AbortController();
    const before = host.requests.length;
    await due();
    const { context, ownerUrl: url } = plane;
    const store = url === undefined ? undefined : await openPostgresBeside({ url, connections: 2 });
    const servers = [context, { ...context, store: store ?? context.store }];
    await Promise.all([...servers, ...servers].map((one) => pollConnections(one, signal)));
    await store?.close();
    await look();
    expect(
      host.requests.slice(before).filter((one) => one.includes("/pulls/1/files")),
    ).toHaveLength(1);
    for (const id of ids) expect(await jobs(id)).toHaveLength(2);
    // What another server did before it was killed is not repeated, and the rest follows.
    await setRows(plane, "pull_requests", { planned_commit: null }, { connection_id: connection });
    await look();
    for (const id of ids) expect(await jobs(id)).toHaveLength(2);
  });
});
