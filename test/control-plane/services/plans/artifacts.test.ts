import { hash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readlinkSync } from "node:fs";
import { connect } from "node:net";
import { lockName } from "../../../../control-plane/data-directory/lock.ts";
import { beforeAll, expect, test } from "vitest";
import { addOwner, type Owner } from "../../../helpers/plane/rows.ts";
import {
  addHeldJob,
  addTestWorker,
  ask,
  readJob,
  setJob,
  type TestWorker,
} from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { inPieces } from "../../../helpers/machine/pieces.ts";

const { plane } = planeForFile();
let owner: Owner;
let worker: TestWorker;
beforeAll(async () => {
  owner = await addOwner(plane.context.store);
  worker = await addTestWorker(plane, owner);
});

const limit = 52_428_800;
const digestOf = (content: Buffer) => `sha-256=:${hash("sha256", content, "base64")}:`;
const pathOf = ({ id }: { id: string }) => `/api/jobs/${id}/plan-artifact`;
const upload = (
  job: { id: string },
  body: Buffer | AsyncIterable<Uint8Array>,
  headers: Record<string, string> = {},
  by = worker,
) => ask(plane, "POST", pathOf(job), { headers: { ...by.headers, ...headers }, body });
const download = (job: { id: string }, headers: Record<string, string> = {}, by = worker) =>
  ask(plane, "GET", pathOf(job), { headers: { ...by.headers, ...headers } });

test("an artifact is returned byte for byte, with its size and digest", async () => {
  const job = await addHeldJob(plane, owner, worker);
  const plan = randomBytes(300_000);
  const stored = await upload(job, plan, { "content-digest": digestOf(plan) });
  expect(stored.status).toBe(201);
  expect(stored.json()).toEqual({
    job_id: job.id,
    size_bytes: plan.length,
    sha256: hash("sha256", plan),
  });
  const read = await download(job);
  expect(read.status).toBe(200);
  expect(read.body.equals(plan)).toBe(true);
  expect(read.headers).toMatchObject({
    "content-type": "application/octet-stream",
    "content-length": String(plan.length),
    "content-digest": digestOf(plan),
    etag: `"${hash("sha256", plan)}"`,
    "accept-ranges": "bytes",
  });
});

test.for([
  ["no content type", {}],
  ["application/gzip", { "content-type": "application/gzip" }],
  ["application/json for a body that is not JSON", { "content-type": "application/json" }],
] as const)("an upload with %s is accepted, with and without a length", async ([, headers]) => {
  for (const body of [Buffer.from("{plan"), inPieces(Buffer.from("{plan"))]) {
    const job = await addHeldJob(plane, owner, worker);
    expect((await upload(job, body, headers)).status).toBe(201);
    expect((await download(job)).text).toBe("{plan");
  }
});

test("an empty artifact is accepted", async () => {
  const job = await addHeldJob(plane, owner, worker);
  expect((await upload(job, Buffer.alloc(0))).json()).toMatchObject({ size_bytes: 0 });
  expect((await download(job)).body).toHaveLength(0);
});

test("an upload starts its job", async () => {
  const job = await addHeldJob(plane, owner, worker);
  await upload(job, Buffer.from("plan"));
  expect((await readJob(plane, job)).started_at).not.toBeNull();
});

test("the holder of a DEPLOY reads the artifact of its plan by the id of either job", async () => {
  const plan = await addHeldJob(plane, owner, worker);
  await upload(plan, Buffer.from("the plan"));
  const other = await addTestWorker(plane, owner);
  const deploy = await addHeldJob(plane, owner, other, {
    job_type: "DEPLOY",
    plan_job_id: plan.id,
  });
  expect((await download(deploy, {}, other)).text).toBe("the plan");
  expect((await download(plan, {}, other)).text).toBe("the plan");
  await setJob(plane, deploy, { worker_id: null, status: "QUEUED" });
  expect((await download(deploy, {}, other)).status).toBe(404);
  expect((await download(plan, {}, other)).status).toBe(404);
});

test("a Content-Length above the limit is refused before the body is read", async () => {
  const job = await addHeldJob(plane, owner, worker);
  const answer = await speak(job, { "content-length": String(limit + 1) });
  expect(answer.text).toMatch(/^HTTP\/1\.1 413 /);
});

test.for([
  ["a length", { "content-length": String(limit + 1) }, (text: string) => text],
  [
    "no length",
    { "transfer-encoding": "chunked" },
    (text: string) => `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`,
  ],
] as const)(
  "a client that sends a whole body above the limit with %s before it reads still gets the response",
  async ([, headers, encode]) => {
    const job = await addHeldJob(plane, owner, worker);
    const { socket } = await speak(job, headers, encode("x".repeat(limit + 1)));
    socket.pause();
    await once(socket, "drain");
    const [answer] = (await once(socket.resume(), "data")) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 413 .*payload_too_large/s);
    socket.destroy();
  },
);

test("an upload that breaks off leaves nothing behind and can be repeated", async () => {
  const job = await addHeldJob(plane, owner, worker);
  const before = await plane.blobs();
  for (const headers of [{ "content-length": "1000000" }, { "transfer-encoding": "chunked" }]) {
    const { socket } = await speak(job, headers, "7530\r\n" + "x".repeat(30_000) + "\r\n");
    await expect.poll(() => plane.blobs()).toBe(before + 1);
    socket.destroy();
    await expect.poll(() => plane.blobs()).toBe(before);
  }
  expect((await download(job)).status).toBe(404);
  expect((await readJob(plane, job)).started_at).toBeNull();
  expect((await upload(job, Buffer.from("plan"))).status).toBe(201);
});

test("content that does not match its digest is refused and not stored", async () => {
  const job = await addHeldJob(plane, owner, worker);
  const before = await plane.blobs();
  const wrong = await upload(job, Buffer.from("plan"), {
    "content-digest": digestOf(Buffer.from("another")),
  });
  expect([wrong.status, wrong.json().code]).toEqual([400, "digest_mismatch"]);
  const unreadable = await upload(job, Buffer.from("plan"), { "content-digest": "sha-256=plan" });
  expect([unreadable.status, unreadable.json().code]).toEqual([400, "invalid_request"]);
  expect(await plane.blobs()).toBe(before);
  expect((await readJob(plane, job)).started_at).toBeNull();
});

test("an artifact is written once per attempt; the same bytes return the same response again", async () => {
  const job = await addHeldJob(plane, owner, worker);
  const first = await upload(job, Buffer.from("plan"));
  const before = await plane.blobs();
  const again = await upload(job, Buffer.from("plan"));
  expect([first.status, again.status]).toEqual([201, 200]);
  expect(again.json()).toEqual(first.json());
  const other = await upload(job, Buffer.from("another plan"));
  expect([other.status, other.json().code]).toEqual([409, "artifact_exists"]);
  expect(await plane.blobs()).toBe(before);
  expect((await download(job)).text).toBe("plan");
});

test("of ten concurrent uploads exactly one is stored", async () => {
  const job = await addHeldJob(plane, owner, worker);
  const before = await plane.blobs();
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, index) => upload(job, Buffer.from(`plan ${index}`))),
  );
  const winners = answers.filter(({ status }) => status === 201);
  expect(winners).toHaveLength(1);
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(9);
  expect(await plane.blobs()).toBe(before + 1);
  expect(hash("sha256", (await download(job)).body)).toBe(winners[0]?.json()["sha256"]);
});

test("the artifact of a newer attempt replaces the older one", async () => {
  const job = await addHeldJob(plane, owner, worker);
  await upload(job, Buffer.from("first"), { "x-job-attempt": "1" });
  const before = await plane.blobs();
  await setJob(plane, job, { attempt: 2 });
  const late = await upload(job, Buffer.from("first"), { "x-job-attempt": "1" });
  expect([late.status, late.json().code]).toEqual([409, "not_job_holder"]);
  expect((await upload(job, Buffer.from("second"), { "x-job-attempt": "2" })).status).toBe(201);
  expect((await download(job)).text).toBe("second");
  expect(await plane.blobs()).toBe(before);
});

test("only the job's holder can upload or download: other workers get 409 or 404", async () => {
  const job = await addHeldJob(plane, owner, worker);
  const before = await plane.blobs();
  const colleague = await addTestWorker(plane, owner);
  const otherWorker = await addTestWorker(plane, await addOwner(plane.context.store));
  const codeOf = async (by: TestWorker, method: typeof upload) =>
    (await method(job, Buffer.from("plan"), {}, by)).json().code;
  expect(await codeOf(colleague, upload)).toBe("not_job_holder");
  expect(await codeOf(otherWorker, upload)).toBe("not_found");
  await upload(job, Buffer.from("plan"));
  for (const by of [colleague, otherWorker])
    expect((await download(job, {}, by)).json().code).toBe("not_found");
  const unauthenticated = {
    ...worker,
    headers: { ...worker.headers, "x-worker-token": "wlw_wrong" },
  };
  expect(await codeOf(unauthenticated, upload)).toBe("invalid_worker_token");
  expect((await download(job, {}, unauthenticated)).status).toBe(401);
  expect(await plane.blobs()).toBe(before + 1);
});

test("an upload is not stored if the job gets a new attempt meanwhile", async () => {
  const job = await addHeldJob(plane, owner, worker);
  const before = await plane.blobs();
  const slow = (async function* () {
    yield Buffer.from("half of the plan");
    await expect.poll(() => plane.blobs()).toBe(before + 1);
    await setJob(plane, job, { attempt: 2 });
    yield Buffer.from("the other half");
  })();
  const answer = await upload(job, slow, { "x-job-attempt": "1" });
  expect([answer.status, answer.json().code]).toEqual([409, "not_job_holder"]);
  expect(await plane.blobs()).toBe(before);
});

test("a download supports ranges, conditional requests and HEAD", async () => {
  const job = await addHeldJob(plane, owner, worker);
  const plan = randomBytes(200_000);
  await upload(job, plan);
  const { etag } = (await download(job)).headers as { etag: string };
  const rest = await download(job, { range: "bytes=70000-", "if-range": etag });
  expect(rest.status).toBe(206);
  expect(rest.headers["content-range"]).toBe("bytes 70000-199999/200000");
  expect(rest.headers["content-digest"]).toBeUndefined();
  expect(rest.body.equals(plan.subarray(70_000))).toBe(true);
  const outside = await download(job, { range: "bytes=200000-" });
  expect([outside.status, outside.headers["content-range"]]).toEqual([416, "bytes */200000"]);
  const unchanged = await download(job, { "if-none-match": etag });
  expect([unchanged.status, unchanged.body.length]).toEqual([304, 0]);
  const head = await ask(plane, "HEAD", pathOf(job), { headers: worker.headers });
  expect([head.status, head.headers["content-length"]]).toEqual([200, "200000"]);
});

test("a reader that disconnects leaves no file open", async () => {
  const job = await addHeldJob(plane, owner, worker);
  await upload(job, randomBytes(5_000_000));
  const { socket } = await speak(job, {}, "", "GET");
  await once(socket, "data");
  expect(openBlobs()).toBe(1);
  socket.destroy();
  await expect.poll(openBlobs).toBe(0);
  expect((await download(job)).body).toHaveLength(5_000_000);
});

/** The number of blobs that this process, which runs the server, has open. */
const openBlobs = () =>
  readdirSync("/proc/self/fd").filter((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.includes("/blobs/") && !path.includes(lockName);
    } catch {
      // Closed in the meantime.
      return false;
    }
  }).length;

/**
 * Sends the headers and `body` over a raw connection. Waits for a response only if there is no
 * body.
 */
async function speak(
  job: { id: string },
  headers: Record<string, string>,
  body = "",
  method = "POST",
) {
  const { hostname, port } = new URL(plane.url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  const lines = Object.entries({ host: hostname, ...worker.headers, ...headers });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.write(`${method} ${pathOf(job)} HTTP/1.1\r\n${head}\r\n${body}`);
  if (body !== "" || method === "GET") return { socket, text: "" };
  const [answer] = (await once(socket, "data")) as [Buffer];
  socket.destroy();
  return { socket, text: answer.toString() };
}
