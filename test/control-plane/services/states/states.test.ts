import { hash } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { releaseLock } from "../../../../control-plane/store/states/states.ts";
import type { JobRow } from "../../../../control-plane/domain/job.ts";
import { addOwner, addSpec, type Owner } from "../../../helpers/plane/rows.ts";
import {
  addHeldJob,
  addTestWorker,
  ask,
  jobCredential,
  readJob,
  readRows,
  setJob,
  stateHeaders,
  type TestWorker,
} from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";

const { plane } = planeForFile();
let owner: Owner;
let worker: TestWorker;
beforeAll(async () => {
  owner = await addOwner(plane.context.store);
  worker = await addTestWorker(plane, owner);
});

/** A held job with a configuration of its own. */
async function heldJob(change: Partial<JobRow> = {}): Promise<JobRow> {
  const spec_id = change.spec_id ?? (await addSpec(plane.context.store, owner));
  return addHeldJob(plane, owner, worker, { job_type: "DEPLOY", spec_id, ...change });
}

const basic = (user: string, password: string) =>
  `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;

const call = (
  job: JobRow,
  method: string,
  options: { body?: string; query?: string; headers?: Record<string, string> } = {},
) =>
  ask(plane, method, `/api/state/${job.spec_id}${options.query ?? ""}`, {
    headers: { ...stateHeaders(plane, job), ...options.headers },
    ...(options.body === undefined ? {} : { body: options.body }),
  });

const lockDocument = (ID: string) =>
  JSON.stringify({ ID, Operation: "OperationTypeApply", Info: "", Who: "me@here", Path: "" });
const lock = (job: JobRow, id = "lock-1") => call(job, "LOCK", { body: lockDocument(id) });
const unlock = (job: JobRow, id = "lock-1") => call(job, "UNLOCK", { body: lockDocument(id) });
const stateText = (serial: number, more: object = {}) =>
  JSON.stringify({ version: 4, serial, lineage: "line", outputs: {}, resources: [], ...more });
const post = (job: JobRow, body: string, id = "lock-1", headers: Record<string, string> = {}) =>
  call(job, "POST", { body, query: `?ID=${id}`, headers });
const versions = (job: JobRow) => readRows(plane, "state_versions", { spec_id: job.spec_id ?? "" });

test("a state is locked, read, written, unlocked and returned unchanged", async () => {
  const job = await heldJob();
  expect((await lock(job)).status).toBe(200);
  expect((await call(job, "GET")).status).toBe(204);
  const text = stateText(1, { resources: [{}, {}] });
  const written = await post(job, text, "lock-1", { "content-md5": hash("md5", text, "base64") });
  expect([written.status, written.body.length]).toEqual([200, 0]);
  expect((await unlock(job)).status).toBe(200);
  const read = await call(job, "GET");
  expect([read.status, read.text]).toEqual([200, text]);
  expect(read.headers).toMatchObject({
    "content-type": "application/json",
    "content-md5": hash("md5", text, "base64"),
    "cache-control": "no-store",
  });
  expect(await versions(job)).toMatchObject([
    { serial: 1, lineage: "line", resources: 2, size_bytes: text.length, job_id: job.id },
  ]);
});

test("a LOCK repeated by its holder succeeds; other callers get the holder's lock info", async () => {
  const job = await heldJob();
  expect((await lock(job)).status).toBe(200);
  expect((await lock(job)).status).toBe(200);
  const refused = await lock(job, "lock-2");
  expect([refused.status, refused.text]).toEqual([423, lockDocument("lock-1")]);
  expect(refused.headers["content-type"]).toMatch("application/json");
  await setJob(plane, job, { released_at: 1 });
  const next = await heldJob({ spec_id: job.spec_id });
  const sameId = await lock(next, "lock-1");
  expect([sameId.status, sameId.text]).toEqual([423, lockDocument("lock-1")]);
});

test("a PLAN may store a first state without resources, and no other", async () => {
  const [first, second] = [await heldJob({ job_type: "PLAN" }), await heldJob()];
  await lock(first);
  const encrypted = '{"serial":1,"lineage":"line","encrypted_data":"","encryption_version":"v0"}';
  for (const body of [stateText(1, { resources: [{}] }), encrypted]) {
    const refused = await post(first, body);
    expect([refused.status, refused.json().code]).toEqual([409, "state_conflict"]);
  }
  // Terraform would count it up to one that is no safe integer, and no DEPLOY could store its state.
  expect((await post(first, stateText(Number.MAX_SAFE_INTEGER))).status).toBe(409);
  const empty = stateText(1);
  for (const _ of ["stored", "repeated"]) expect((await post(first, empty)).status).toBe(200);
  expect((await post(first, stateText(2))).status).toBe(409);
  expect((await versions(first)).map(({ serial }) => serial)).toEqual([1]);

  await lock(second);
  expect((await post(second, stateText(1, { resources: [{}] }))).status).toBe(200);
  await unlock(second);
  await setJob(plane, second, { status: "SUCCESS", released_at: 1 });
  const plan = await heldJob({ job_type: "PLAN", spec_id: second.spec_id });
  await lock(plan);
  const before = await plane.blobs();
  expect((await post(plan, stateText(2))).json().code).toBe("state_conflict");
  expect(await versions(plan)).toMatchObject([{ serial: 1, resource_count: 1 }]);
  expect(await plane.blobs()).toBe(before);
});

test("exactly one of twenty concurrent LOCKs succeeds", async () => {
  const job = await heldJob();
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => lock(job, `lock-${n}`)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(answers.filter(({ status }) => status === 423)).toHaveLength(19);
});

test("an UNLOCK needs the holder's ID, succeeds without a lock, and is refused without a body", async () => {
  const job = await heldJob();
  expect((await unlock(job)).status).toBe(200);
  await lock(job);
  const wrong = await unlock(job, "lock-2");
  expect([wrong.status, wrong.text]).toEqual([423, lockDocument("lock-1")]);
  expect((await call(job, "UNLOCK")).status).toBe(400);
  expect((await call(job, "UNLOCK", { body: "" })).status).toBe(400);
  expect((await lock(job, "lock-2")).status).toBe(423);
  expect((await unlock(job)).status).toBe(200);
  expect((await lock(job, "lock-2")).status).toBe(200);
});

test.for([
  ["invalid JSON", "{ID"],
  ["null", "null"],
  ["no ID", "{}"],
  ["an ID that is not a text", '{"ID":5}'],
  ["an empty ID", '{"ID":""}'],
  ["an ID of 201 characters", JSON.stringify({ ID: "x".repeat(201) })],
])("a lock document with %s is refused", async ([, body]) => {
  const job = await heldJob();
  for (const method of ["LOCK", "UNLOCK"])
    expect((await call(job, method, { body: body as string })).status).toBe(400);
  expect((await readJob(plane, job)).started_at).toBeNull();
});

test("a lock document over 64 KiB is refused", async () => {
  const job = await heldJob();
  const body = JSON.stringify({ ID: "lock-1", Info: "x".repeat(65_536) });
  expect((await call(job, "LOCK", { body })).status).toBe(413);
});

test("a POST without the holder's ID is refused and stores nothing", async () => {
  const job = await heldJob();
  const before = await plane.blobs();
  expect((await post(job, stateText(1))).json().code).toBe("state_conflict");
  await lock(job);
  for (const query of ["", "?ID=", "?ID=lock-2"]) {
    const refused = await call(job, "POST", { body: stateText(1), query });
    expect([refused.status, refused.json().code]).toEqual([409, "state_conflict"]);
  }
  expect(await versions(job)).toEqual([]);
  expect(await plane.blobs()).toBe(before);
});

test("the same state is stored once, and every other one as a version of its own", async () => {
  const job = await heldJob();
  await lock(job);
  const before = await plane.blobs();
  expect((await post(job, stateText(3))).status).toBe(200);
  expect((await post(job, stateText(3))).status).toBe(200);
  expect((await post(job, stateText(4))).status).toBe(200);
  expect((await post(job, stateText(9))).status).toBe(200);
  expect((await versions(job)).map(({ serial }) => serial)).toEqual([3, 4, 9]);
  expect(await plane.blobs()).toBe(before + 3);
});

test.for([
  ["the same serial with other content", stateText(5, { outputs: { a: {} } })],
  ["a lower serial", stateText(4)],
  ["lineage of this state differs", stateText(6, { lineage: "other" })],
])("%s does not replace the state", async ([, text]) => {
  const job = await heldJob();
  await lock(job);
  await post(job, stateText(5));
  const before = await plane.blobs();
  const refused = await post(job, text as string);
  expect([refused.status, refused.json().code]).toEqual([409, "state_conflict"]);
  expect((await call(job, "GET")).text).toBe(stateText(5));
  expect(await plane.blobs()).toBe(before);
});

test("a malformed state or one with a wrong MD5 is refused and not stored", async () => {
  const job = await heldJob();
  await lock(job);
  const before = await plane.blobs();
  const wrong = { "content-md5": hash("md5", "another", "base64") };
  expect((await post(job, stateText(1), "lock-1", wrong)).json().code).toBe("digest_mismatch");
  expect((await post(job, stateText(1), "lock-1", { "content-md5": "?" })).status).toBe(400);
  for (const text of ["", "{}", "[]", stateText(1).slice(0, -1), "<html>"])
    expect((await post(job, text)).status).toBe(400);
  expect(await versions(job)).toEqual([]);
  expect(await plane.blobs()).toBe(before);
});

test("of twenty concurrent states with one serial exactly one is stored", async () => {
  const job = await heldJob();
  await lock(job);
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => post(job, stateText(1, { outputs: { [n]: {} } }))),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(await versions(job)).toHaveLength(1);
});

test("LOCK starts the job; GET does not", async () => {
  const job = await heldJob();
  await call(job, "GET");
  expect((await readJob(plane, job)).started_at).toBeNull();
  await lock(job);
  expect((await readJob(plane, job)).started_at).not.toBeNull();
});

test("every other credential than the job's own is refused with 401", async () => {
  const [job, other] = [await heldJob(), await heldJob()];
  const { username, password } = jobCredential(plane, job);
  const wrong = [
    "",
    "Basic",
    "Basic !!!",
    `Bearer ${password}`,
    basic("", ""),
    basic(username, ""),
    basic("", password),
    basic(username, `${password}x`),
    basic(username, password.slice(0, -1)),
    basic(username, password.toUpperCase()),
    basic(other.id, password),
    basic(username, jobCredential(plane, other).password),
    basic(username, jobCredential(plane, { ...job, attempt: 2 }).password),
    basic(username, worker.headers["x-worker-token"] ?? ""),
    stateHeaders(plane, other).authorization,
  ];
  for (const value of wrong)
    for (const method of ["GET", "POST", "LOCK", "UNLOCK"]) {
      const refused = await call(job, method, {
        headers: { authorization: value },
        ...(method === "GET" ? {} : { body: lockDocument("lock-1") }),
      });
      expect([refused.status, refused.json().code]).toEqual([401, "unauthenticated"]);
      expect(refused.headers["www-authenticate"]).toMatch(/^Basic realm=/);
    }
  const noSpec = await ask(plane, "GET", "/api/state/not-an-id", {
    headers: stateHeaders(plane, job),
  });
  expect(noSpec.status).toBe(401);
});

test("a job token works from the claim to the release, also after a cancel", async () => {
  const job = await heldJob();
  expect((await call(job, "GET")).status).toBe(204);
  // Cancelled just now: the server releases a cancel that is not acknowledged within 15 minutes.
  const now = Date.now();
  const cancelled = { started_at: now, cancelled_at: now, ended_at: now };
  await setJob(plane, job, { status: "CANCELLED", ...cancelled });
  expect((await lock(job)).status).toBe(200);
  expect((await post(job, stateText(1))).status).toBe(200);
  expect((await unlock(job)).status).toBe(200);
  await setJob(plane, job, { released_at: 1 });
  expect((await call(job, "GET")).status).toBe(401);
  expect((await lock(job)).status).toBe(401);
});

test("a job that is claimed again has a new token, and the old one is refused", async () => {
  const job = await heldJob();
  await setJob(plane, job, { attempt: 2 });
  expect((await call(job, "GET")).status).toBe(401);
  const again = await readJob(plane, job);
  expect((await call(again, "GET")).status).toBe(204);
  await setJob(plane, job, { status: "QUEUED", worker_id: null });
  expect((await call(again, "GET")).status).toBe(401);
});

test("a lost job can still save and unlock while it holds the lock", async () => {
  const job = await heldJob();
  await lock(job);
  await setJob(plane, job, { status: "FAILED", ended_at: 1, released_at: 1 });
  expect((await post(job, stateText(1))).status).toBe(200);
  expect((await unlock(job)).status).toBe(200);
  expect((await post(job, stateText(2))).status).toBe(401);
  expect((await lock(job)).status).toBe(401);
});

test.each([
  ["that was lost", { presumed_lost_at: 1 }],
  ["that ran at a restore", { presumed_lost_at: null }],
])(
  "a job %s can read its last state until it reports its end or another job writes one",
  async (_, how) => {
    const job = await heldJob();
    await lock(job);
    await setJob(plane, job, {
      status: "FAILED",
      ...how,
      outcome_unknown: 1,
      ended_at: 1,
      released_at: 1,
    });
    await post(job, stateText(1));
    await unlock(job);
    expect((await call(job, "GET")).text).toBe(stateText(1));
    expect((await lock(job)).status).toBe(401);
    await setJob(plane, job, { presumed_lost_at: null, outcome_unknown: 0 });
    expect((await call(job, "GET")).status).toBe(401);
    // Another job of the configuration has written a newer state.
    await setJob(plane, job, { ...how, outcome_unknown: 1 });
    const next = await heldJob({ spec_id: job.spec_id });
    await lock(next, "lock-2");
    await post(next, stateText(2), "lock-2");
    expect((await call(job, "GET")).status).toBe(401);
  },
);

test("releasing a job ends its own lock only", async () => {
  const [job, other] = [await heldJob(), await heldJob()];
  await lock(job);
  await lock(other);
  const { store } = plane.context;
  expect(await store.write((tx) => releaseLock(tx, job.id))).toBe(true);
  expect(await store.write((tx) => releaseLock(tx, job.id))).toBe(false);
  expect((await lock(job, "lock-2")).status).toBe(200);
  expect((await lock(other, "lock-2")).status).toBe(423);
});

test("a state is not stored in clear", async () => {
  const job = await heldJob();
  await lock(job);
  await post(job, stateText(1, { outputs: { password: { value: "S3NSITIVE-MARKER" } } }));
  expect(await plane.holds("S3NSITIVE-MARKER")).toEqual([]);
});
