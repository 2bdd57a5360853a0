/** Archived logs: readers notice no difference, whenever a crash, a late chunk or retention comes. */
import { setTimeout as pause } from "node:timers/promises";
import { sql } from "kysely";
import { describe, expect } from "vitest";
import { day } from "../../../../common/units.ts";
import { findErrors } from "../../../../control-plane/services/logs/errors.ts";
import { archiveLogs } from "../../../../control-plane/services/logs/archiving.ts";
import { findSteps } from "../../../../control-plane/services/logs/progress.ts";
import { findResources } from "../../../../control-plane/services/logs/resources.ts";
import type { Context } from "../../../../control-plane/services/context.ts";
import { retainOnce } from "../../../../control-plane/services/storage/retention.ts";
import type { AppendLogs } from "../../../../protocol/executions.ts";
import { addTestUser, type TestUser } from "../../../helpers/people/user.ts";
import {
  addHeldJob,
  ask,
  readRow,
  readRows,
  setJob,
  startPlane,
  type Plane,
} from "../../../helpers/plane/plane.ts";
import { proving } from "../../../helpers/project/proving.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addRows, addSpec } from "../../../helpers/plane/rows.ts";
import type { JobRow } from "../../../../control-plane/domain/job.ts";

const { plane, it: base } = planeForFile();
const it = base.extend("user", () => addTestUser(plane));

type Chunk = NonNullable<AppendLogs["chunks"]>[number];
const output = (seq: number, log_chunk: string): Chunk => ({
  seq,
  stream_type: "STDOUT",
  log_chunk,
});
const at = (second: number) => `2026-11-22T10:15:${String(second).padStart(2, "0")}.120Z`;
const resource = { address: 'a.b["x"]', action: "create" } as const;

/** Posts of everything that a log may have: 1,460 chunks on several frames. */
function posts(): Chunk[][] {
  let seq = 0;
  const next = (log_chunk: string, more: Partial<Chunk> = {}): Chunk => {
    seq += 1;
    return { ...output(seq, log_chunk), ...more };
  };
  const system = (name: string, event: "started" | "ended", second: number) =>
    next(`${name} ${event}\n`, {
      stream_type: "SYSTEM",
      step: { name, event, at: at(second) },
    });
  return [
    [
      system("init", "started", 1),
      next("\u0000 \u001b[31mred\u001b[0m \r\n \ufffd 🚀 \u2028"),
      next(""),
      system("init", "ended", 4),
    ],
    ...Array.from({ length: 6 }, () => Array.from({ length: 200 }, () => next(`${seq}`))),
    [next("x".repeat(400_000))],
    ...Array.from({ length: 5 }, () =>
      Array.from({ length: 50 }, () => next("line\n".repeat(300))),
    ),
    [
      system("apply", "started", 5),
      next("a", { resource: { ...resource, event: "started", at: at(6) } }),
      next("b", { resource: { ...resource, event: "ended", at: at(7) } }),
      next("╷\n│ Error: no\n│ \n│   on main.tf line 3:\n╵\n", { stream_type: "STDERR" }),
      system("apply", "ended", 8),
    ],
  ];
}

/** Adds a job whose log has these posts, and that has ended. */
async function endedJob(
  { owner, worker, runner }: TestUser,
  chunks: readonly Chunk[][],
  of = plane,
): Promise<JobRow> {
  const spec = await addSpec(of.context.store, owner);
  const job = await addHeldJob(of, owner, worker, { spec_id: spec });
  const params = { id: job.id };
  for (const post of chunks) await runner.ask("appendLogs", { params, body: { chunks: post } });
  const last_seq = chunks.flat().length;
  await runner.ask("reportStatus", { params, body: { status: "FAILED", last_seq } });
  return job;
}

/** Everything that a reader can see of a log; with pages, also each kind of page of it. */
async function viewOf({ headers, worker }: TestUser, { id }: JobRow, withPages = false) {
  const get = async (path: string, as = headers) => {
    const { status, text } = await ask(plane, "GET", path, { headers: as });
    return { status, text };
  };
  const path = `/api/cli/jobs/${id}/logs`;
  const whole = await get(path);
  const ids = (JSON.parse(whole.text) as { logs: { id: number }[] }).logs.map((log) => log.id);
  const some = ids.filter((_, index) => index % 190 === 0 || index > ids.length - 3);
  const pages: unknown[] = [];
  for (const after of withPages ? some : [])
    for (const limit of [1, 3, 250]) pages.push(await get(`${path}?after=${after}&limit=${limit}`));
  const stream = async (from: Record<string, string> = {}) => {
    const { status, text } = await get(`/api/jobs/${id}/logs/stream`, { ...headers, ...from });
    // Every fifteen seconds an idle stream gets a comment, which is no part of the log.
    return { status, text: text.replaceAll(/^:\n\n/gm, "") };
  };
  const streams = [await stream()];
  for (const after of some.slice(-2)) streams.push(await stream({ "last-event-id": `${after}` }));
  const { context } = plane;
  const job = await get(`/api/cli/jobs/${id}`);
  const { ended_at } = JSON.parse(job.text) as { ended_at: string };
  return {
    whole,
    pages,
    streams,
    runner: await get(`/api/jobs/${id}/logs`, worker.headers),
    job,
    steps: await findSteps(context, id),
    resources: await findResources(context, { id, ended_at, presumed_lost_at: null }),
    errors: await findErrors(context, id),
  };
}

const chunksOf = async ({ id }: JobRow, of = plane) => readRows(of, "log_chunks", { job_id: id });
const archiveNow = (of = plane) => archiveLogs(of.context, 0);

describe("the log of a finished job", () => {
  it("is read the same, byte for byte, after it has left the database", async ({ user }) => {
    const job = await endedJob(user, posts());
    const before = await viewOf(user, job, true);
    expect(before.whole.text.length).toBeGreaterThan(900_000);
    expect(before.steps).toHaveLength(2);
    expect(before.resources.list).toHaveLength(1);
    expect(before.errors).toHaveLength(1);
    expect(await archiveNow()).toMatchObject({ logs: 1, unreadable: 0 });
    expect(await chunksOf(job)).toEqual([]);
    expect(await viewOf(user, job, true)).toEqual(before);
    // Compressed, and nothing of it in clear.
    const { size_bytes } = await readRow(plane, "log_archives", { job_id: job.id });
    expect(size_bytes).toBeLessThan(before.whole.text.length / 20);
    expect(await archiveNow()).toMatchObject({ logs: 0 });
  });

  it("stays in the database while its job runs, or ended less than the delay ago", async ({
    user,
  }) => {
    const { owner, worker, runner } = user;
    const running = await addHeldJob(plane, owner, worker);
    const body = { chunks: [output(1, "one")] };
    await runner.ask("appendLogs", { params: { id: running.id }, body });
    const recent = await endedJob(user, [[output(1, "one")]]);
    const late = await endedJob(user, [[output(1, "one")]]);
    await setJob(plane, late, { released_at: 1 });
    await archiveLogs(plane.context, day);
    for (const job of [running, recent, late]) expect(await chunksOf(job)).toHaveLength(1);
    await archiveNow();
    expect(await chunksOf(running)).toHaveLength(1);
    expect(await chunksOf(recent)).toHaveLength(0);
  });

  it("takes chunks that arrive after it was archived, and keeps the ids of repeated ones", async ({
    user,
  }) => {
    const job = await endedJob(user, posts());
    const params = { id: job.id };
    const count = posts().flat().length;
    const post = (...chunks: Chunk[]) =>
      user.runner.call("appendLogs", { params, body: { chunks } });
    const path = `/api/cli/jobs/${job.id}/logs`;
    const logsOf = async () => {
      const { text } = await ask(plane, "GET", path, { headers: user.headers });
      return (JSON.parse(text) as { logs: { id: number; log_chunk: string }[] }).logs;
    };
    const before = await logsOf();
    await archiveNow();
    for (const seq of [1, 2, 700, count]) {
      const repeated = await post(output(seq, "again"));
      expect(repeated.id).toBe(before[seq - 1]?.id);
    }
    expect(await chunksOf(job)).toEqual([]);
    await post(output(count, "again"), output(count + 1, "late"), output(count + 2, "later"));
    expect(await user.runner.refusal("appendLogs", { params, body: output(count + 9, "") })).toBe(
      "409 log_gap",
    );
    const after = await logsOf();
    expect(after.slice(0, -2)).toEqual(before);
    expect(after.slice(-2).map(({ log_chunk }) => log_chunk)).toEqual(["late", "later"]);
    const view = await viewOf(user, job);
    const first = await readRow(plane, "log_archives", { job_id: job.id });
    expect(await archiveNow()).toMatchObject({ logs: 1 });
    expect(await chunksOf(job)).toEqual([]);
    expect(await viewOf(user, job)).toEqual(view);
    expect((await post(output(count + 1, "again"))).id).toBe(after.at(-2)?.id);
    // The earlier archive is deleted when no reader can be using it.
    const [unnamed] = await readRows(plane, "unnamed_blobs", { blob: first.blob });
    expect(unnamed?.delete_at).toBeGreaterThan(Date.now() + 1_800_000);
  });

  it("shows the same steps before and after a later chunk is archived, up to their limit", async ({
    user,
  }) => {
    const mark = (seq: number): Chunk => ({
      ...output(seq, ""),
      stream_type: "SYSTEM",
      step: { name: `step ${seq}`, event: "started", at: at(1) },
    });
    const marks = (from: number) => Array.from({ length: 200 }, (_, index) => mark(from + index));
    const job = await endedJob(user, [marks(1), marks(201), [mark(401)]]);
    const before = await findSteps(plane.context, job.id);
    expect(before).toHaveLength(400);
    await archiveNow();
    const body = { chunks: [mark(402)] };
    await user.runner.ask("appendLogs", { params: { id: job.id }, body });
    expect(await findSteps(plane.context, job.id)).toEqual(before);
    await archiveNow();
    expect(await findSteps(plane.context, job.id)).toEqual(before);
  });

  it("neither loses nor repeats a chunk if a crash left some that are archived", async ({
    user,
  }) => {
    const job = await endedJob(user, posts());
    const before = await viewOf(user, job);
    const rows = await chunksOf(job);
    await archiveNow();
    const archive = await readRow(plane, "log_archives", { job_id: job.id });
    for (let from = 1000; from < rows.length; from += 100)
      await addRows(plane.context.store, "log_chunks", ...rows.slice(from, from + 100));
    expect(await viewOf(user, job)).toEqual(before);
    expect(await archiveNow()).toMatchObject({ logs: 0 });
    expect(await chunksOf(job)).toEqual([]);
    expect(await readRow(plane, "log_archives", { job_id: job.id })).toEqual(archive);
    expect(await viewOf(user, job)).toEqual(before);
  });

  it("is archived once if two rounds come together", async ({ user }) => {
    const job = await endedJob(user, posts());
    const before = await viewOf(user, job);
    const blobs = await plane.blobs();
    const rounds = await Promise.all([archiveNow(), archiveNow()]);
    expect(rounds[0].logs + rounds[1].logs).toBe(1);
    expect(await plane.blobs()).toBe(blobs + 1);
    expect(await viewOf(user, job)).toEqual(before);
  });

  it("is archived in small transactions, and goes on after a stop", async ({ user }) => {
    const job = await endedJob(user, posts());
    const before = await viewOf(user, job);
    const all = (await chunksOf(job)).length;
    const stop = new AbortController();
    let writes = 0;
    const write: Context["store"]["write"] = async (change) => {
      const answer = await store.write(change);
      writes += 1;
      if (writes === 2) stop.abort();
      return answer;
    };
    const { store } = plane.context;
    const context = { ...plane.context, store: { read: store.read, write } as Context["store"] };
    await archiveLogs(context, 0, stop.signal);
    expect((await chunksOf(job)).length).toBe(all - 2 * 500);
    expect(await viewOf(user, job)).toEqual(before);
    await archiveNow();
    expect(await chunksOf(job)).toEqual([]);
    expect(await viewOf(user, job)).toEqual(before);
  });

  it("stays as it is if the server stops while its archive is written", async ({ user }) => {
    const job = await endedJob(user, posts());
    const all = await chunksOf(job);
    const count = await plane.blobs();
    const stop = new AbortController();
    let frames = 0;
    const { blobs } = plane.context;
    const write: Context["blobs"]["write"] = (content, limit) => {
      const counted = async function* () {
        for await (const frame of content) {
          frames += 1;
          stop.abort();
          yield frame;
        }
      };
      return blobs.write(counted(), limit);
    };
    const context = { ...plane.context, blobs: { ...blobs, write } };
    expect(await archiveLogs(context, 0, stop.signal)).toEqual({ logs: 0, unreadable: 0 });
    expect(frames).toBe(1);
    expect(await chunksOf(job)).toEqual(all);
    expect(await plane.blobs()).toBe(count);
    expect(await archiveNow()).toMatchObject({ logs: 1 });
  });

  it("is archived without a recorded volume, as an earlier release left it", async ({ user }) => {
    const job = await endedJob(user, []);
    const old = { job_id: job.id, stream_type: "STDOUT" as const, created_at: 1 };
    await addRows(
      plane.context.store,
      "log_chunks",
      { ...old, seq: null, log_chunk: "one" },
      { ...old, seq: null, log_chunk: "two" },
    );
    const before = await viewOf(user, job);
    expect(before.whole.text).toContain("two");
    await archiveNow();
    expect(await chunksOf(job)).toEqual([]);
    expect(await viewOf(user, job)).toEqual(before);
  });
});

/** The server's context this many days later. */
const later = (of: Plane, days: number): Context => ({
  ...of.context,
  now: () => Date.now() + days * day,
});

it("retention removes an archived log and its blob, and readers are told", async () => {
  const own = await startPlane();
  const user = await addTestUser(own);
  const job = await endedJob(user, [[output(1, "one")]], own);
  await archiveNow(own);
  // Its last line is counted, as it is in the database.
  const { last_at } = await readRow(own, "log_archives");
  await setJob(own, job, { released_at: 1, ended_at: 1 });
  expect(await retainOnce(later(own, 89))).toMatchObject({ logs: 0 });
  expect(last_at).toBeGreaterThan(Date.now() - day);
  expect(await retainOnce(later(own, 91))).toMatchObject({ logs: 1 });
  await retainOnce(later(own, 91));
  expect(await readRows(own, "log_archives")).toEqual([]);
  expect(await own.blobs()).toBe(0);
  const path = `/api/cli/jobs/${job.id}/logs`;
  const { text } = await ask(own, "GET", path, { headers: user.headers });
  expect(JSON.parse(text)).toMatchObject({ logs: [], log_pruned_at: expect.any(String) });
  await own.close();
});

it("the database grows by at most 4 KiB for a finished job with a log of 1 MB", async () => {
  const own = await startPlane({ WINDLASS_TEST_LIMITS: '{"logArchiveSeconds": 0.01}' });
  // PostgreSQL uses the space of deleted rows again when it has vacuumed.
  if (own.context.store.isShared) return own.close();
  const { client, runner, owner } = await addTestUser(own);
  const configuration_id = await addSpec(own.context.store, owner);
  const run = async () => {
    const body = { job_type: "PLAN", configuration_id } as const;
    const { id } = await client.call("createJob", { body });
    await runner.call("claimJob");
    const params = { id };
    const text = "a line of terraform's output\n".repeat(565);
    for (let seq = 1; seq <= 64; seq += 16) {
      const chunks = Array.from({ length: 16 }, (_, index) => output(seq + index, text));
      await runner.ask("appendLogs", { params, body: { chunks } });
    }
    await runner.ask("reportStatus", { params, body: { status: "SUCCESS", last_seq: 64 } });
    while ((await readRows(own, "log_chunks", { job_id: id })).length > 0) await pause(10);
  };
  const measure = async () => {
    const { rows } = await sql<{ used: number; pages: number }>`
      select sum(pgsize - unused) as used, sum(pgsize) as pages from dbstat`.execute(
      own.context.store.read.sql,
    );
    return rows[0] ?? { used: 0, pages: 0 };
  };
  for (let n = 0; n < 4; n += 1) await run();
  const before = await measure();
  const jobs = proving ? 300 : 12;
  for (let n = 0; n < jobs; n += 1) await run();
  const after = await measure();
  const [used, pages] = [after.used - before.used, after.pages - before.pages];
  process.stderr.write(
    `the database grew by ${Math.round(used / jobs)} bytes a job, in pages of ${Math.round(pages / jobs)}\n`,
  );
  expect(used / jobs).toBeLessThanOrEqual(4096);
  // A few jobs may begin a page in each of many indexes.
  if (proving) expect(pages / jobs).toBeLessThanOrEqual(4096);
  await own.close();
});
