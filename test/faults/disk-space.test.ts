/** A real agent on a full disk, and on a small disk where one can be mounted. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startAgent, until } from "../helpers/agent/agent-process.ts";
import {
  startInterfaceOnlyServer,
  type InterfaceOnlyServer,
} from "../helpers/agent/interface-only-server.ts";
import { folderForFile } from "../helpers/machine/folders.ts";
import { needsRoot, smallDisk } from "../helpers/machine/small-disk.ts";

const place = folderForFile();
let server: InterfaceOnlyServer;
beforeAll(async () => {
  server = await startInterfaceOnlyServer();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});
const agentIn = (workDir: string, settings: Record<string, string> = {}) =>
  startAgent({
    ...server.settings,
    WINDLASS_WORK_DIR: workDir,
    WINDLASS_STATUS_ADDRESS: "127.0.0.1:0",
    ...settings,
  });
const enqueue = () =>
  server.enqueue({
    job_type: "PLAN",
    config_snapshot: { source: { type: "inline", files: { "main.tf": "" } } },
  });
const low = (log: string): number => log.split("too little disk space is free").length - 1;

test("an agent with too little disk space takes no job, sends heartbeats, and reports why", async () => {
  const job = enqueue();
  await using agent = agentIn(join(place, "full"), { WINDLASS_FREE_DISK_MIB: "1000000000" });
  await until(() => low(agent.log()) > 0);
  const before = server.heartbeats.length;
  await until(() => server.heartbeats.length > before + 2);
  expect([job.status, job.claims, low(agent.log())]).toEqual(["QUEUED", 0, 1]);
  const [, url] = /"url":"(http[^"]+)"/.exec(agent.log()) ?? [];
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toContain("windlass_agent_disk_low 1");
  expect(metrics).toMatch(/windlass_agent_disk_free_bytes \d{4,}/);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  agent.kill("SIGTERM");
  expect(await agent.exited).toBe(0);
  job.status = "CANCELLED";
});

test("an agent takes jobs again as soon as there is space", async (context) => {
  await using disk = await smallDisk(64);
  if (!disk) return context.skip(needsRoot);
  const ballast = join(disk.path, "ballast");
  writeFileSync(ballast, Buffer.alloc(40 * 1024 * 1024));
  const job = enqueue();
  await using agent = agentIn(join(disk.path, "agent"), {
    WINDLASS_FREE_DISK_MIB: "32",
    // The users of jobs cannot reach the disk.
    WINDLASS_ISOLATION: "process",
  });
  await until(() => low(agent.log()) > 0);
  expect(job.claims).toBe(0);
  rmSync(ballast);
  await until(() => ["SUCCESS", "FAILED"].includes(job.status));
  expect(agent.log()).toContain("enough disk space is free again");
});

test("an agent removes orphaned files of ended jobs at its start, but no rescued states", async () => {
  const workDir = join(place, "left");
  const left = join(workDir, "workspaces", crypto.randomUUID());
  mkdirSync(join(left, "source", "deep"), { recursive: true });
  mkdirSync(join(workDir, "providers", ".partial-x"), { recursive: true });
  mkdirSync(join(workDir, "rescued-states"), { recursive: true });
  await using agent = agentIn(workDir);
  await until(() => agent.log().includes("ready for jobs"));
  expect(existsSync(left)).toBe(false);
  expect(existsSync(join(workDir, "providers", ".partial-x"))).toBe(false);
  expect(existsSync(join(workDir, "rescued-states"))).toBe(true);
});

test("an agent removes no workspace while a journal cannot be read", async () => {
  const workDir = join(place, "unreadable");
  const left = join(workDir, "workspaces", crypto.randomUUID());
  mkdirSync(left, { recursive: true });
  const job = join(workDir, "jobs", crypto.randomUUID());
  mkdirSync(job, { recursive: true });
  writeFileSync(join(job, "journal.ndjson"), "no json\n");
  await using agent = agentIn(workDir);
  await until(() => agent.log().includes("ready for jobs"));
  expect(existsSync(left)).toBe(true);
});
