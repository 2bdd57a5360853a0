/**
 * Starting and stopping agents while jobs run: one agent per work directory, jobs adopted only with
 * an accepted identity, the ways to stop, and what remains for the next agent. Real processes and
 * real terraform.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { LogStep } from "../../protocol/jobs.ts";
import { userMachine, type UserMachine } from "../helpers/cli/user-machine.ts";
import { scratch, startAgent, until } from "../helpers/agent/agent-process.ts";
import { fixtureFiles } from "../helpers/agent/fixtures.ts";
import { faultProxy } from "../helpers/network/fault-proxy.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { processesOf } from "../helpers/machine/processes.ts";
import { isolationForHeldApply, startHeldApply } from "../helpers/agent/held-apply.ts";
import { bin } from "../helpers/cli/windlass.ts";

const { plane } = planeForFile();

const isEndOfApply = ({ name, event }: LogStep): boolean => name === "apply" && event === "ended";

const folders = ["jobs", "workspaces"] as const;
const contentOf = (work: string): string[] =>
  folders.flatMap((name) => readdirSync(join(work, name)));

const unshare = ["--pid", "--mount-proc", "--fork", "--kill-child"];
const canUnshare = spawnSync("unshare", [...unshare, "true"]).status === 0;

describe.concurrent("an agent", () => {
  test("does not start beside a running agent in another PID namespace, such as a second container", async ({
    skip,
  }) => {
    skip(!canUnshare, "unshare may not make a PID namespace");
    await using owner = await userMachine(plane, { agent: isolationForHeldApply });
    const { work, user } = owner;
    const { job, finish } = await startHeldApply(owner);
    const second = spawn("unshare", [...unshare, bin, "agent"], {
      env: {
        ...isolationForHeldApply,
        PATH: process.env["PATH"],
        TMPDIR: process.env["TMPDIR"],
        WINDLASS_URL: plane.url,
        WINDLASS_WORK_DIR: work,
      },
    });
    const [log, [code]] = await Promise.all([text(second.stderr), once(second, "exit")]);
    expect(log).toMatch(/another agent \(pid \d+ on .+\) uses/);
    expect(code).toBe(1);
    expect(contentOf(work)).toEqual([job.id, job.id]);
    finish();
    expect(await user.released(job)).toMatchObject({ status: "SUCCESS", log_complete: true });
  });

  /**
   * An apply whose agent is killed, and another job's directory, without heartbeats to the server.
   */
  async function orphanedApply(owner: UserMachine, proxy: Awaited<ReturnType<typeof faultProxy>>) {
    const running = await startHeldApply(owner);
    owner.agent.kill("SIGKILL");
    await owner.agent.exited;
    mkdirSync(join(owner.work, "workspaces", "of-another-job"));
    proxy.onRequest = ({ path }) => !path.endsWith("/heartbeat");
    return running;
  }

  test("adopts no ended job and removes nothing before the control plane has accepted its identity", async () => {
    const proxy = await faultProxy(plane.url);
    await using _ = { [Symbol.asyncDispose]: () => proxy.close() };
    await using owner = await userMachine(plane, {
      agent: { WINDLASS_URL: proxy.url, ...isolationForHeldApply },
    });
    const { work, user } = owner;
    const { job } = await orphanedApply(owner, proxy);
    const started = readFileSync(join(work, "jobs", job.id, "runs", "08-apply", "started"), "utf8");
    process.kill(-Number.parseInt(started), "SIGKILL");
    await until(() => processesOf(work).length === 0);

    const second = owner.restart();
    await until(() => second.log().includes("a call of the control plane failed"));
    second.kill("SIGTERM");
    expect(await second.exited).toBe(0);
    expect(second.log()).toContain("the next start continues these jobs");
    expect(second.log()).not.toContain("job found");
    expect(contentOf(work)).toEqual([job.id, job.id, "of-another-job"]);

    proxy.onRequest = () => true;
    owner.restart();
    const end = await user.released(job);
    expect(end).toMatchObject({ status: "FAILED", attempt: 1 });
    expect(end.error_message).toMatch(/outcome unknown.*the state was left locked, lock ID /);
    await until(() => contentOf(work).length === 0);
  });

  test("adopts a running command while the server is away, and reports its end when the server is back", async () => {
    const proxy = await faultProxy(plane.url);
    await using _ = { [Symbol.asyncDispose]: () => proxy.close() };
    await using owner = await userMachine(plane, {
      agent: { WINDLASS_URL: proxy.url, ...isolationForHeldApply },
    });
    const { work, user } = owner;
    const { job, finish } = await orphanedApply(owner, proxy);
    // Terraform needs the server to save its state.
    proxy.onRequest = ({ path }) => path.includes("/api/state/");

    const second = owner.restart();
    await until(() => second.log().includes("continuing it"));
    finish();
    const journal = join(work, "jobs", job.id, "journal.ndjson");
    await until(() => readFileSync(journal, "utf8").includes('"at":"ended"'));
    expect(contentOf(work)).toEqual([job.id, job.id, "of-another-job"]);

    proxy.onRequest = () => true;
    expect(await user.released(job)).toMatchObject({
      status: "SUCCESS",
      attempt: 1,
      log_complete: true,
    });
    expect(await user.log(job)).toContain("applying");
    await until(() => contentOf(work).length === 0);
  });

  test("times what terraform did while no agent was running", async () => {
    await using owner = await userMachine(plane, { agent: isolationForHeldApply });
    const { work, user } = owner;
    const { job, finish } = await startHeldApply(owner);
    owner.agent.kill("SIGKILL");
    await owner.agent.exited;
    finish();
    await until(() => processesOf(work).length === 0);
    const over = Date.now();
    await sleep(3000);
    owner.restart();
    expect(await user.released(job)).toMatchObject({ status: "SUCCESS" });
    const { logs } = await user.client.call("getJobLogs", { params: { id: job.id } });
    const resource = logs.flatMap((chunk) => chunk.resource ?? []).at(-1);
    const step = logs.flatMap((chunk) => chunk.step ?? []).find(isEndOfApply);
    expect(resource).toMatchObject({ event: "ended" });
    for (const one of [resource, step])
      expect(Date.parse(one?.at ?? "")).toBeLessThanOrEqual(over + 100);
    expect(resource?.elapsed_seconds).toBeTypeOf("number");
  });

  test("stops its apply, removes the job's files and ends with 78 when its worker is removed", async () => {
    await using owner = await userMachine(plane, { agent: isolationForHeldApply });
    const { work, user, agent } = owner;
    const { job } = await startHeldApply(owner);
    const { workerId } = await owner.identity();
    await user.client.call("deleteWorker", { params: { id: workerId } });
    expect(await agent.exited).toBe(78);
    expect(agent.log()).toContain("stopping the running jobs");
    expect(agent.log()).toContain("register again");
    expect(contentOf(work)).toEqual([]);
    expect(processesOf(work)).toEqual([]);
    // The removal of the worker ended the job. Terraform saved its state before it ended.
    expect(await user.read(job)).toMatchObject({ status: "FAILED" });
    expect(existsSync(join(work, "rescued-states"))).toBe(false);
  });

  test("handles SIGHUP as SIGTERM, and cancels its jobs after WINDLASS_STOP_SECONDS", async () => {
    await using owner = await userMachine(plane, {
      agent: { WINDLASS_STOP_SECONDS: "0.5", ...isolationForHeldApply },
    });
    const { work, user, agent } = owner;
    const { job } = await startHeldApply(owner);
    agent.kill("SIGHUP");
    expect(await agent.exited).toBe(0);
    expect(agent.log()).toContain("WINDLASS_STOP_SECONDS=0.5 has passed");
    const end = await user.read(job);
    expect(end).toMatchObject({ status: "CANCELLED", log_complete: true });
    expect(end.error_message).toMatch(/^the agent was stopped during apply/);
    expect(contentOf(work)).toEqual([]);
  });

  test("frees its identity when it ends, so that an agent with a new work directory gets the next job", async () => {
    await using owner = await userMachine(plane, {
      agent: { WINDLASS_ONCE: "1", ...isolationForHeldApply },
    });
    const { user, agent } = owner;
    const { workerId, workerToken } = await owner.identity();
    const configuration_id = await user.configure({
      source: { type: "inline", files: fixtureFiles("success-cluster") },
    });
    await user.queue({ job_type: "PLAN", configuration_id });
    expect(await agent.exited).toBe(0);
    const worker = await user.client.call("getWorker", { params: { id: workerId } });
    expect(worker.status).toBe("OFFLINE");

    using place = scratch();
    await using next = startAgent({
      WINDLASS_URL: plane.url,
      WINDLASS_WORK_DIR: place.path,
      WINDLASS_WORKER_ID: workerId,
      WINDLASS_WORKER_TOKEN: workerToken,
      WINDLASS_ONCE: "1",
      ...isolationForHeldApply,
    });
    await user.queue({ job_type: "PLAN", configuration_id });
    expect(await next.exited).toBe(0);
    expect(next.log()).not.toContain("another agent uses this identity");
  });
});
