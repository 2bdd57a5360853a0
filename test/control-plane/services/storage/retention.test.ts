import { hash, randomBytes, randomUUID } from "node:crypto";
import { readdir, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test, vi } from "vitest";
import { readConfig } from "../../../../control-plane/config.ts";
import type { Context } from "../../../../control-plane/services/context.ts";
import { retainOnce } from "../../../../control-plane/services/storage/retention.ts";
import { day } from "../../../../common/units.ts";
import { addTestUser } from "../../../helpers/people/user.ts";
import {
  addHeldJob,
  ask,
  clientHeaders,
  type Plane,
  readJob,
  readRow,
  readRows,
  setJob,
  setRows,
  startPlane,
  stateHeaders,
} from "../../../helpers/plane/plane.ts";
import { addOwner, addRows, addSpec } from "../../../helpers/plane/rows.ts";

/** The server's context this many days later. */
const later = (plane: Plane, days: number): Context => ({
  ...plane.context,
  now: () => Date.now() + days * day,
});

/** Runs a PLAN with a log, an artifact and this many versions of its state. */
async function finishedPlan(plane: Plane, versions = 0) {
  const user = await addTestUser(plane);
  const { owner, worker, runner } = user;
  const spec = await addSpec(plane.context.store, owner);
  const job = await addHeldJob(plane, owner, worker, { spec_id: spec });

  const params = { id: job.id };
  const chunk = (seq: number) => ({
    log_chunk: `line ${seq}\n`,
    stream_type: "STDOUT" as const,
    seq,
  });
  await runner.ask("appendLogs", { params, body: { chunks: [chunk(1), chunk(2)] } });
  await ask(plane, "POST", `/api/jobs/${job.id}/plan-artifact`, {
    headers: { ...worker.headers, "content-type": "application/octet-stream" },
    body: randomBytes(100_000),
  });
  // A PLAN may not store them.
  const become = (job_type: "PLAN" | "DEPLOY") =>
    setRows(plane, "jobs", { job_type }, { id: job.id });
  await become("DEPLOY");
  const headers = stateHeaders(plane, await readJob(plane, job));
  const id = randomUUID();
  const lock = { headers, json: { ID: id } };
  await ask(plane, "LOCK", `/api/state/${spec}`, lock);
  for (let serial = 1; serial <= versions; serial += 1) {
    const json = { version: 4, serial, lineage: id, resources: [] };
    const answer = await ask(plane, "POST", `/api/state/${spec}?ID=${id}`, { headers, json });
    expect(answer.status).toBe(200);
  }
  await ask(plane, "UNLOCK", `/api/state/${spec}`, lock);
  await become("PLAN");
  await runner.ask("reportStatus", { params, body: { status: "SUCCESS", last_seq: 2 } });
  return { ...user, spec, job };
}

test("a running server removes expired rows and files by its settings, and readers are told", async () => {
  const soon = "0.00001";
  const plane = await startPlane({
    WINDLASS_RETENTION_LOG_DAYS: soon,
    WINDLASS_RETENTION_ARTIFACT_DAYS: soon,
    WINDLASS_RETENTION_STATE_DAYS: soon,
    WINDLASS_TEST_LIMITS: '{"stateVersions": 2}',
  });
  const { spec, job, client, headers, runner } = await finishedPlan(plane, 5);
  const archive = await ask(plane, "POST", "/api/cli/archives", {
    headers,
    body: gzipSync("old"),
  });
  expect(archive.status).toBe(201);
  // The two newest versions of the state stay.
  await vi.waitFor(async () => expect(await plane.blobs()).toBe(2), { timeout: 15_000 });
  const { log_pruned_at, log_complete, status } = await client.call("getJob", {
    params: { id: job.id },
  });
  expect([status, log_complete, log_pruned_at]).toEqual(["SUCCESS", null, expect.any(String)]);
  const nothing = { logs: [], next_after: null, log_pruned_at };
  for (const query of [{}, { limit: 1 }, { after: 1 }]) {
    const asked = { params: { id: job.id }, query };
    expect(await client.call("getJobLogs", asked)).toEqual(nothing);
    expect(await runner.call("readLogs", asked)).toEqual(nothing);
  }
  const stream = await ask(plane, "GET", `/api/jobs/${job.id}/logs/stream`, { headers });
  const events = stream.text;
  expect(events).not.toContain("event: log");
  expect(events).toMatch(/event: end\ndata: .*"log_pruned_at":"2/);
  const deploy = { job_type: "DEPLOY" as const, configuration_id: spec, plan_job_id: job.id };
  const refused = await ask(plane, "POST", "/api/jobs", { headers, json: deploy });
  expect([refused.status, refused.json()]).toEqual([
    400,
    expect.objectContaining({
      code: "invalid_plan",
      detail: expect.stringContaining("Plan again"),
    }),
  ]);
  const { state_versions: left } = await client.call("listStateVersions", {
    params: { name: spec },
  });
  expect(left.map(({ serial }) => serial)).toEqual([5, 4]);
  for (const { serial } of left) {
    const path = `/api/cli/configurations/${spec}/state/versions/${serial}`;
    expect((await ask(plane, "GET", path, { headers })).json()).toMatchObject({ serial });
  }
  await plane.close();
});

test("a runner that was lost before its log was pruned can still report the end of its job", async () => {
  const plane = await startPlane();
  const { job, runner } = await finishedPlan(plane);
  await setJob(plane, job, { status: "FAILED", presumed_lost_at: 1, outcome_unknown: 1 });
  await retainOnce(later(plane, 91));
  await retainOnce(later(plane, 91));
  const params = { id: job.id };
  const body = { log_chunk: "late", stream_type: "STDOUT" as const, seq: 3 };
  expect(await runner.call("appendLogs", { params, body })).toMatchObject({
    job_status: "FAILED",
  });
  const report = { status: "SUCCESS" as const, last_seq: 3 };
  await runner.call("reportStatus", { params, body: report });
  expect((await readJob(plane, job)).status).toBe("SUCCESS");
  await plane.close();
});

test("files are removed one round after their rows, so that a reader of a row finds its file", async () => {
  const plane = await startPlane();
  await finishedPlan(plane);
  expect(await plane.blobs()).toBe(1);
  expect(await retainOnce(later(plane, 31))).toMatchObject({ artifacts: 1, blobs: 0 });
  expect(await plane.blobs()).toBe(1);
  expect(await retainOnce(later(plane, 31))).toMatchObject({ artifacts: 0, blobs: 1 });
  expect(await plane.blobs()).toBe(0);
  await plane.close();
});

test("no file is removed while a backup reads the files", async () => {
  const plane = await startPlane();
  await finishedPlan(plane);
  await retainOnce(later(plane, 31));
  const until = String(Date.now() + 60 * day);
  await addRows(plane.context.store, "facts", { name: "backup:it", value: until });
  await retainOnce(later(plane, 31));
  expect(await plane.blobs()).toBe(1);
  await retainOnce(later(plane, 61));
  expect(await plane.blobs()).toBe(0);
  await plane.close();
});

test("an orphaned blob is removed a week after it was found, and a young or referenced one is kept", async () => {
  const plane = await startPlane();
  const { spec } = await finishedPlan(plane, 1);
  const forever: Context["retention"] = { ...plane.context.retention, artifacts: Infinity };
  const round = (days: number) => retainOnce({ ...later(plane, days), retention: forever });
  const content = async function* () {
    yield Buffer.from("a crash came before its row");
  };
  const { blob } = await plane.context.blobs.write(content(), 100);
  const file = join(plane.directory, "blobs", blob.slice(0, 2), blob.slice(2));
  await round(0);
  await round(8);
  // It was too young in the first round, so the week began with the second.
  expect((await stat(file)).isFile()).toBe(true);
  const hoursAgo = new Date(Date.now() - 2 * 3600_000);
  await utimes(file, hoursAgo, hoursAgo);
  await round(8);
  await round(14);
  expect(await plane.blobs()).toBe(3);
  await round(16);
  await expect(stat(file)).rejects.toThrow("ENOENT");
  const version = await readRow(plane, "state_versions", { spec_id: spec });
  expect(await plane.blobs()).toBe(2);
  expect(await readdir(join(plane.directory, "blobs", version.blob.slice(0, 2)))).toContain(
    version.blob.slice(2),
  );
  await plane.close();
});

test("an archive that is uploaded again is kept as long as a new one", async () => {
  const plane = await startPlane({ WINDLASS_RETENTION_ARTIFACT_DAYS: "forever" });
  const retention = { ...plane.context.retention, artifacts: day };
  const context: Context = { ...plane.context, retention };
  const owner = await addOwner(plane.context.store);
  const headers = await clientHeaders(plane, owner);
  const body = gzipSync("again");
  await ask(plane, "POST", "/api/cli/archives", { headers, body });
  await setRows(plane, "archives", { named_at: 1, created_at: 1 });
  expect((await ask(plane, "POST", "/api/cli/archives", { headers, body })).status).toBe(200);
  expect(await retainOnce(context)).toMatchObject({ archives: 0 });
  expect((await readRow(plane, "archives")).sha256).toBe(hash("sha256", body));
  await plane.close();
});

test("a long log is removed in small batches, between which other writes proceed", async () => {
  const plane = await startPlane();
  const { job, client, headers } = await finishedPlan(plane);
  const { store } = plane.context;
  const log = { stream_type: "STDOUT", log_chunk: "x".repeat(2000) } as const;
  const chunk = { job_id: job.id, ...log, created_at: 1 };
  for (let batch = 0; batch < 20; batch += 1)
    await addRows(
      store,
      "log_chunks",
      ...Array.from({ length: 200 }, (_, n) => ({ ...chunk, seq: batch * 200 + n + 3 })),
    );
  const count = async () => (await readRows(plane, "log_chunks")).length;
  const stop = new AbortController();
  const first = retainOnce(later(plane, 91), stop.signal);
  let beside = 0;
  const largest = { gap: 0 };
  for (let left = await count(); left > 2000;) {
    await store.write(async () => void (beside += 1));
    const now = await count();
    largest.gap = Math.max(largest.gap, left - now);
    left = now;
  }
  stop.abort();
  await first;
  // On PostgreSQL the batches go on while a turn counts the rows.
  expect(beside).toBeGreaterThan(store.isShared ? 1 : 10);
  expect(largest.gap).toBeLessThanOrEqual(store.isShared ? 2000 : 400);
  // Stopped halfway: a later round continues.
  expect(await count()).toBeGreaterThan(0);
  // The rest is not served: readers are told that the log was removed.
  const path = `/api/jobs/${job.id}/logs/stream`;
  const stream = await ask(plane, "GET", path, { headers });
  expect(stream.text).not.toContain("xxx");
  const asked = { params: { id: job.id } };
  const { logs } = await client.call("getJobLogs", asked);
  expect(logs).toEqual([]);
  await retainOnce(later(plane, 91));
  expect(await count()).toBe(0);
  await plane.close();
});

test.each([
  ["WINDLASS_RETENTION_LOG_DAYS", "0"],
  ["WINDLASS_RETENTION_ARTIFACT_DAYS", "-1"],
  ["WINDLASS_RETENTION_STATE_DAYS", "NaN"],
])("%s=%s is refused at the start, with the name", (name, value) => {
  expect(() => readConfig({ [name]: value })).toThrow(name);
});

test("the setting forever removes nothing", async () => {
  const plane = await startPlane({
    WINDLASS_RETENTION_LOG_DAYS: "forever",
    WINDLASS_RETENTION_ARTIFACT_DAYS: "forever",
    WINDLASS_RETENTION_STATE_DAYS: "forever",
    WINDLASS_TEST_LIMITS: '{"stateVersions": 1}',
  });
  await finishedPlan(plane, 3);
  const none = { logs: 0, artifacts: 0, archives: 0, state_versions: 0, blobs: 0 };
  expect(await retainOnce(later(plane, 36_500))).toEqual(none);
  await plane.close();
});
