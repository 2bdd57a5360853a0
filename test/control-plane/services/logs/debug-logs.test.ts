import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "vitest";
import { day } from "../../../../common/units.ts";
import { retainOnce } from "../../../../control-plane/services/storage/retention.ts";
import { findNamedBlobs } from "../../../../control-plane/store/storage/sealed.ts";
import { openSnapshot } from "../../../../control-plane/store/storage/snapshot.ts";
import { findUnnamed } from "../../../../control-plane/store/storage/orphaned-blobs.ts";
import { features } from "../../../../protocol/features.ts";
import { debugLogLimit } from "../../../../protocol/limits.ts";
import { callsOf } from "../../../helpers/plane/calls.ts";
import { addTestUser } from "../../../helpers/people/user.ts";
import {
  addHeldJob,
  addTestWorker,
  ask,
  clientHeaders,
  readJob,
  readRow,
  setJob,
  startPlane,
  type TestWorker,
} from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addOwner, addSpec, type Owner } from "../../../helpers/plane/rows.ts";

const { plane } = planeForFile();
let owner: Owner;
let worker: TestWorker;
let person: Record<string, string>;
beforeAll(async () => {
  ({ owner, worker, headers: person } = await addTestUser(plane));
});

const held = (change = {}) =>
  addHeldJob(plane, owner, worker, { features: '["debug"]', ...change });
const upload = (job: { id: string }, body: Buffer, headers: Record<string, string> = {}) =>
  ask(plane, "POST", `/api/jobs/${job.id}/debug-log`, {
    headers: { ...worker.headers, ...headers },
    body,
  });
const download = (job: { id: string }, headers = person) =>
  ask(plane, "GET", `/api/cli/jobs/${job.id}/debug-log`, { headers });
const problem = ({ status, json }: Awaited<ReturnType<typeof ask>>) =>
  `${status} ${String(json()["code"])}`;
const content = gzipSync("2026-11-22T05:24:20Z [DEBUG] it\n");

describe("the debug log of a job", () => {
  it("is requested when the job is created, and the claiming runner gets the request", async () => {
    const { owner: user, client, runner } = await addTestUser(plane);
    await runner.call("heartbeat", { body: { version: "1.0.0", features: [...features] } });
    for (const debug of [true, false, undefined]) {
      const configuration_id = await addSpec(plane.context.store, user);
      const asked = { job_type: "PLAN" as const, configuration_id };
      const made = await client.call("createJob", {
        body: debug === undefined ? asked : { ...asked, debug },
      });
      expect(made).toMatchObject({ debug: debug === true, debug_log_bytes: null });
      const claimed = await runner.call("claimJob");
      expect(claimed.job.id).toBe(made.id);
      expect(claimed.job.debug).toBe(debug === true ? true : undefined);
    }
  });

  it("is downloaded as it was uploaded, and its size is on the job", async () => {
    const job = await held();
    const { blobs } = plane;
    const before = await blobs();
    expect(problem(await download(job))).toBe("404 not_found");
    const stored = await upload(job, content);
    expect([stored.status, stored.json()]).toEqual([
      201,
      { job_id: job.id, size_bytes: content.length },
    ]);
    expect((await readJob(plane, job)).started_at).not.toBeNull();
    expect(await callsOf(plane, person).call("getJob", { params: job })).toMatchObject({
      debug: true,
      debug_log_bytes: content.length,
    });
    const read = await download(job);
    expect(read.body.equals(content)).toBe(true);
    expect(read.headers).toMatchObject({
      "content-type": "application/gzip",
      "content-length": String(content.length),
      "content-disposition": `attachment; filename="job-${job.id}-debug.log.gz"`,
    });
    expect(await blobs()).toBe(before + 1);
  });

  it("is stored once per attempt, and replaced by that of a newer attempt", async () => {
    const job = await held();
    await upload(job, content, { "x-job-attempt": "1" });
    const before = await plane.blobs();
    expect((await upload(job, content)).status).toBe(200);
    expect(problem(await upload(job, gzipSync("another")))).toBe("409 artifact_exists");
    await setJob(plane, job, { attempt: 2 });
    const late = await upload(job, content, { "x-job-attempt": "1" });
    expect(problem(late)).toBe("409 not_job_holder");
    const second = gzipSync("second");
    expect((await upload(job, second, { "x-job-attempt": "2" })).status).toBe(201);
    expect((await download(job)).body.equals(second)).toBe(true);
    expect(await plane.blobs()).toBe(before);
  });

  it("is accepted after the job's end until its log is pruned", async () => {
    const ended = await held({ status: "FAILED", started_at: 1, ended_at: 2, released_at: 2 });
    expect((await upload(ended, content)).status).toBe(201);
    const pruned = await held({
      status: "FAILED",
      started_at: 1,
      ended_at: 2,
      released_at: 2,
      log_pruned_at: 3,
    });
    expect(problem(await upload(pruned, content))).toBe("409 job_ended");
  });

  it("is accepted only from the job's holder, and not readable by it", async () => {
    const job = await held();
    const before = await plane.blobs();
    const colleague = await addTestWorker(plane, owner);
    const otherWorker = await addTestWorker(plane, await addOwner(plane.context.store));
    expect(problem(await upload(job, content, colleague.headers))).toBe("409 not_job_holder");
    expect(problem(await upload(job, content, otherWorker.headers))).toBe("404 not_found");
    expect(await plane.blobs()).toBe(before);
    await upload(job, content);
    expect(problem(await download(job, worker.headers))).toBe("401 unauthenticated");
  });

  it("is refused if the job has no debug flag or the body is not gzip, and nothing is stored", async () => {
    const before = await plane.blobs();
    const plain = await addHeldJob(plane, owner, worker);
    expect(problem(await upload(plain, content))).toBe("400 invalid_request");
    const job = await held();
    for (const body of [Buffer.from("text"), Buffer.alloc(0)])
      expect(problem(await upload(job, body))).toBe("400 bad_request");
    const digest = { "content-digest": `sha-256=:${"A".repeat(43)}=:` };
    expect(problem(await upload(job, content, digest))).toBe("400 digest_mismatch");
    expect(await plane.blobs()).toBe(before);
    expect((await readJob(plane, job)).started_at).toBeNull();
  });

  it("above the limit is refused before its body is read", async () => {
    const job = await held();
    const { hostname, port } = new URL(plane.url);
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    const headers = { host: hostname, ...worker.headers, "content-length": debugLogLimit + 1 };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`POST /api/jobs/${job.id}/debug-log HTTP/1.1\r\n${lines.join("")}\r\n`);
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
  });

  it("is a blob that garbage collection, backup and key rotation know", async () => {
    const job = await held();
    await upload(job, content);
    const { read, isShared } = plane.context.store;
    const { blob } = await readRow(plane, "debug_logs", { job_id: job.id });
    expect(await findNamedBlobs(read)).toContain(blob);
    expect(await read.all(findUnnamed, { names: JSON.stringify([blob]) })).toEqual([]);
    // There the database's own tools make the backup.
    if (isShared) return;
    const snapshot = openSnapshot(join(plane.directory, "windlass.db"));
    expect(snapshot.blobs()).toContain(blob);
    snapshot.close();
  });

  it("is deleted with the log when the log expires, and its file one round later", async () => {
    const old = await startPlane();
    const { store } = old.context;
    const user = await addOwner(store);
    const holder = await addTestWorker(old, user);
    const now = Date.now();
    const over = { status: "SUCCESS", started_at: now, ended_at: now, released_at: now } as const;
    const job = await addHeldJob(old, user, holder, { features: '["debug"]', ...over });
    const path = `/api/jobs/${job.id}/debug-log`;
    await ask(old, "POST", path, { headers: holder.headers, body: content });
    const later = { ...old.context, now: () => Date.now() + 91 * day };
    expect(await retainOnce(later)).toMatchObject({ logs: 1, blobs: 0 });
    const client = await clientHeaders(old, user);
    const view = await callsOf(old, client).call("getJob", { params: job });
    expect(view).toMatchObject({ debug: true, debug_log_bytes: null });
    expect(await old.blobs()).toBe(1);
    expect(await retainOnce(later)).toMatchObject({ blobs: 1 });
    expect(await old.blobs()).toBe(0);
    await old.close();
  });
});
