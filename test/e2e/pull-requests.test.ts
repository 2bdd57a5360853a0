/**
 * From a pull request to what it deploys: a server that is killed, a real runner, terraform and git,
 * and a stand-in of Forgejo over the same repository.
 */
import { join } from "node:path";
import { expect, test } from "vitest";
import { readConfig } from "../../control-plane/config.ts";
import { openSqlite } from "../../control-plane/store/engines/sqlite.ts";
import type { Job } from "../../protocol/jobs.ts";
import { scratch, startAgent, type AgentProcess } from "../helpers/agent/agent-process.ts";
import { startForge } from "../helpers/hosts/forge.ts";
import { freePort } from "../helpers/network/free-port.ts";
import { addUserAt } from "../helpers/people/user.ts";
import { spawnServer } from "../helpers/plane/server-process.ts";

const jwtSecret = "the-secret-of-the-sign-ins-of-this-server";
const resource = (name: string, input: string): string =>
  `resource "terraform_data" "${name}" {\n  input = "${input}"\n}\n`;

/** A server, a forge, and the configuration `network` that follows its branch `main`. */
async function begin(fields: object) {
  const place = scratch();
  const forge = await startForge();
  forge.commit("main", { "network/main.tf": resource("net", "10.0.0.0/16") });
  const data = join(place.path, "data");
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const start = () =>
    spawnServer(data, {
      WINDLASS_PORT: String(port),
      WINDLASS_PUBLIC_URL: url,
      WINDLASS_OUTBOUND_ALLOW: "127.0.0.0/8",
      CLI_JWT_SECRET: jwtSecret,
    });
  let server = start();
  await server.ready;
  const user = await addUserAt(url, data, jwtSecret);
  const { client } = user;
  const connection = await client.call("createConnection", {
    body: { name: "forge", kind: "forgejo", base_url: forge.url, credential: "full" },
  });
  const configuration = await user.configure({
    name: "network",
    source: { type: "git", url: forge.cloneUrl, path: "network" },
    follow: { connection_id: connection.id, push: "deploy", values: "all" },
    ...fields,
  });
  let agent: AgentProcess | undefined;
  const killNext = ({ path, body }: { path: RegExp; body: RegExp }) => {
    forge.fault.seen = (call) => {
      if (call.method !== "POST" || !path.test(call.path)) return;
      if (!body.test(JSON.stringify(call.body))) return;
      delete forge.fault.seen;
      server.kill("SIGKILL");
    };
  };
  const loop = {
    forge,
    user,
    /** What the host delivers after something happened. */
    deliver: async (name: string) => {
      const payload = { repository: { id: forge.repository.id } };
      const { headers, body } = forge.event(name, payload, connection.webhook_secret);
      const events = `${url}/api/events/${connection.id}`;
      expect((await fetch(events, { method: "POST", headers, body })).status).toBe(202);
    },
    /** Lets the server look without an event, as it does every `poll_seconds`. */
    look: async () => {
      const params = { id: connection.id };
      await client.call("updateConnection", { params, body: { poll_seconds: 86_400 } });
    },
    approve: async (commit: string) => {
      const { id } = (await loop.jobs(commit)).at(-1)!;
      const body = { decision: "approve", comment: null } as const;
      await client.call("decideJob", { params: { id }, body });
    },
    seen: async () =>
      (await client.call("getConfiguration", { params: { name: configuration } })).follow
        ?.seen_commit,
    /** The jobs of a commit, the oldest first. */
    jobs: async (commit?: string): Promise<Job[]> => {
      const { jobs } = await client.call("listJobs", { query: { configuration } });
      return jobs.filter(({ change }) => !commit || change?.commit === commit).toReversed();
    },
    shapes: async (commit?: string) =>
      (await loop.jobs(commit)).map(({ job_type, status }) => `${job_type} ${status}`),
    shown: (commit: string) =>
      Object.fromEntries(
        [...forge.repository.statuses]
          .filter(([key]) => key.startsWith(commit))
          .map(([key, { state, description }]) => [key.slice(41), `${state}: ${description}`]),
      ),
    startRunner: async () => {
      agent = startAgent({
        WINDLASS_URL: url,
        WINDLASS_ALLOW_HTTP: "1",
        WINDLASS_WORK_DIR: join(place.path, "work"),
        WINDLASS_REGISTRATION_TOKEN: await user.registrationToken(),
      });
    },
    /** Kills the server at each of these calls, one after the other, and starts it again. */
    killAt: async (...calls: readonly { path: RegExp; body: RegExp }[]) => {
      for (const [index, first] of calls.entries()) {
        if (index === 0) killNext(first);
        expect(await server.exited).toBeNull();
        const next = calls[index + 1];
        if (next) killNext(next);
        await endLeases(data);
        server = start();
      }
      await server.ready;
    },
    [Symbol.asyncDispose]: async () => {
      await agent?.[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      await forge[Symbol.asyncDispose]();
      place[Symbol.dispose]();
    },
  };
  return loop;
}

/** What a killed server had taken, another one takes after minutes: lets them pass. */
async function endLeases(data: string): Promise<void> {
  const store = await openSqlite(readConfig({ WINDLASS_DATA_DIR: data }).databaseFile);
  await store.write(async ({ sql }) => {
    await sql.updateTable("pull_requests").set({ post_at: 0 }).execute();
    await sql.updateTable("job_changes").set({ post_at: 0 }).execute();
    await sql.updateTable("connections").set({ busy_until: 0 }).execute();
  });
  await store.close();
}

test("a pull request is planned, shown once though the server is killed, approved and deployed; a different plan waits", async () => {
  await using loop = await begin({ approval: { when: "always", count: 1 } });
  const { forge, user, deliver, look, approve, jobs, shapes, shown } = loop;
  const { comments, branches } = forge.repository;
  // What is there already is a baseline.
  await expect.poll(loop.seen).toBe(branches.get("main"));
  expect(await jobs()).toEqual([]);

  const first = forge.commit("change", { "network/dns.tf": resource("dns", "a") });
  forge.open(1, "change");
  await deliver("pull_request");
  await expect.poll(() => shapes(first)).toEqual(["PLAN QUEUED"]);
  await expect
    .poll(() => shown(first))
    .toEqual({
      windlass: "pending: 0 of 1 plan done",
      "windlass/network": "pending: waits for a runner",
    });
  const second = forge.commit("change", { "network/dns.tf": resource("dns", "b") });
  await deliver("pull_request_sync");
  await expect.poll(() => shapes()).toEqual(["PLAN CANCELLED", "PLAN QUEUED"]);

  await loop.startRunner();
  // Before the comment, and after the host has taken it.
  await loop.killAt(
    { path: /\/statuses\//, body: /"success"/ },
    { path: /\/comments$/, body: /windlass/ },
  );
  const planned = "success: +2, needs 1 approval";
  await expect
    .poll(() => shown(second))
    .toEqual({ windlass: planned, "windlass/network": planned });
  await expect.poll(async () => (await jobs(second))[0]?.change_state).toBe("posted");
  expect(comments.map(({ body }) => body)).toEqual([
    expect.stringMatching(/\| `network` \| `\+2, needs 1 approval` \|[^]*terraform_data\.dns/),
  ]);
  expect(await shapes()).toEqual(["PLAN CANCELLED", "PLAN SUCCESS"]);

  // What was approved before the merge is deployed after it, though no event tells of the merge.
  await approve(second);
  const merged = forge.merge(1);
  await look();
  await expect.poll(() => shapes(merged)).toEqual(["PLAN SUCCESS", "DEPLOY SUCCESS"]);
  const [, deploy] = await jobs(merged);
  expect(await user.read(deploy!)).toMatchObject({
    change: { pull_request: { number: 1 } },
    reviewed_plan: { equal: true, approvals_refused: null },
  });

  // The base moves and is not deployed, so that the plan after the merge is another one.
  const third = forge.commit("resize", { "network/dns.tf": resource("dns", "c") });
  forge.open(2, "resize");
  await look();
  await expect.poll(() => shapes(third)).toEqual(["PLAN SUCCESS"]);
  await approve(third);
  const moved = forge.commit("main", { "network/main.tf": resource("net", "10.9.0.0/16") });
  await deliver("push");
  await expect.poll(() => shapes(moved)).toEqual(["PLAN SUCCESS", "DEPLOY QUEUED"]);
  const differing = forge.merge(2);
  await deliver("push");
  await expect.poll(() => shapes(differing)).toEqual(["PLAN SUCCESS", "DEPLOY QUEUED"]);
  expect(await shapes(moved)).toEqual(["PLAN SUCCESS", "DEPLOY CANCELLED"]);
  const waiting = await user.read((await jobs(differing))[1]!);
  expect(waiting).toMatchObject({
    waiting_reason: "waits for 1 approval by a deployer",
    approval_need: { missing: 1 },
    reviewed_plan: { equal: false },
  });
  expect(JSON.stringify(waiting.reviewed_plan)).toContain("terraform_data.net");
  await expect
    .poll(() => shown(differing)["windlass/network"])
    .toBe("pending: differs from the reviewed plan, needs 1 approval");
  await approve(differing);
  await expect.poll(() => shapes(differing)).toEqual(["PLAN SUCCESS", "DEPLOY SUCCESS"]);
  expect(comments.map(({ pull }) => pull)).toEqual([1, 2]);
  expect(comments[1]?.body).toContain("terraform_data.net");
});
