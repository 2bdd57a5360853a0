import { hash, randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { buffer } from "node:stream/consumers";
import { beforeAll, expect, test, vi } from "vitest";
import { UnreadableError } from "../../../../control-plane/domain/secret-box.ts";
import { uploadArchive } from "../../../../control-plane/services/configurations/archives.ts";
import { callerOf } from "../../../helpers/people/caller.ts";
import { addOwner, addRows, type Owner } from "../../../helpers/plane/rows.ts";
import {
  addHeldJob,
  addTestWorker,
  ask,
  clientHeaders,
  setJob,
  setRows,
  type TestWorker,
  readRow,
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

const archive = () => gzipSync(randomBytes(200_000));
const upload = async (content: Buffer, by = owner, size = 50_000) =>
  ask(plane, "POST", "/api/cli/archives", {
    headers: await clientHeaders(plane, by),
    body: inPieces(content, size),
  });

/** Adds a job whose source is the archive. */
async function jobFrom(sha256: string, by = owner, holder = worker) {
  const job = await addHeldJob(plane, by, holder);
  const config_snapshot = JSON.stringify({ source: { type: "archive", sha256 } });
  await setRows(plane, "job_snapshots", { config_snapshot }, { job_id: job.id });
  return job;
}
const download = ({ id }: { id: string }, { headers }: TestWorker) =>
  ask(plane, "GET", `/api/jobs/${id}/source`, { headers });

test("a job's holder can download the archive that is the job's source", async () => {
  const content = archive();
  const sha256 = hash("sha256", content);
  const stored = await upload(content);
  expect([stored.status, stored.json()]).toEqual([201, { sha256, size_bytes: content.length }]);
  const job = await jobFrom(sha256);
  const read = await download(job, worker);
  expect(read.status).toBe(200);
  expect(read.body.equals(content)).toBe(true);
  expect(read.headers).toMatchObject({
    "content-type": "application/gzip",
    "content-digest": `sha-256=:${hash("sha256", content, "base64")}:`,
  });
});

test("the same archive is stored once per owner", async () => {
  const content = archive();
  await upload(content);
  const before = await plane.blobs();
  expect((await upload(content)).status).toBe(200);
  expect(await plane.blobs()).toBe(before);
  expect((await upload(content, await addOwner(plane.context.store))).status).toBe(201);
  expect(await plane.blobs()).toBe(before + 1);
});

test("an archive whose content is lost is whole again after the next upload", async () => {
  const content = archive();
  const sha256 = hash("sha256", content);
  await upload(content);
  const job = await jobFrom(sha256);
  const { blob } = await readRow(plane, "archives", { sha256 });
  await plane.context.blobs.delete(blob);
  expect((await download(job, worker)).json().code).toBe("unreadable");
  const before = await plane.blobs();
  const uploads = await Promise.all([upload(content), upload(content)]);
  expect(new Set(uploads.map(({ status }) => status))).toEqual(new Set([200, 201]));
  expect((await download(job, worker)).body.equals(content)).toBe(true);
  expect(await plane.blobs()).toBe(before + 1);
});

test("an archive that cannot be read at the moment is neither replaced nor deleted", async () => {
  const content = archive();
  const sha256 = hash("sha256", content);
  await upload(content);
  const { blob } = await readRow(plane, "archives", { sha256 });
  const before = await plane.blobs();
  const read = vi
    .spyOn(plane.context.blobs, "read")
    .mockRejectedValueOnce(Object.assign(new Error("disk"), { code: "EIO" }));
  const again = uploadArchive(plane.context, callerOf(owner), inPieces(content, 50_000));
  await expect(again).rejects.toMatchObject({ code: "EIO" });
  read.mockRestore();
  expect(await readRow(plane, "archives", { sha256 })).toMatchObject({ blob });
  expect(await plane.blobs()).toBe(before);
  expect((await upload(content)).status).toBe(200);
});

test("a replaced archive that another space names too is not deleted", async () => {
  const content = archive();
  const sha256 = hash("sha256", content);
  await upload(content);
  const row = await readRow(plane, "archives", { sha256 });
  // As after a zone has moved there.
  const other = await addOwner(plane.context.store);
  await addRows(plane.context.store, "archives", { ...row, owner_id: other.id });
  const read = vi
    .spyOn(plane.context.blobs, "read")
    .mockRejectedValueOnce(new UnreadableError("damaged for a moment"));
  expect((await upload(content)).status).toBe(201);
  read.mockRestore();
  expect(await buffer(await plane.context.blobs.read(row.blob))).toEqual(content);
});

test("an archive cannot be read by another worker, by another owner's job, by a job with another source, or after the release", async () => {
  const content = archive();
  const sha256 = hash("sha256", content);
  await upload(content);
  const otherOwner = await addOwner(plane.context.store);
  const theirs = await addTestWorker(plane, otherOwner);
  const statuses = [
    await download(await jobFrom(sha256), await addTestWorker(plane, owner)),
    await download(await jobFrom(sha256, otherOwner, theirs), theirs),
    await download(await addHeldJob(plane, owner, worker), worker),
  ];
  expect(statuses.map(({ status }) => status)).toEqual([404, 404, 404]);
  const requeued = await jobFrom(sha256);
  await setJob(plane, requeued, { status: "QUEUED", worker_id: null });
  expect((await download(requeued, worker)).status).toBe(404);
});

test.for([
  ["an empty body", Buffer.alloc(0)],
  ["the first byte of a gzip file", Buffer.of(0x1f)],
  ["a zip file", Buffer.from("PK\x03\x04 and more")],
  ["a plain tar file", Buffer.alloc(1024)],
])("%s is refused as not gzip and not stored", async ([, content]) => {
  const before = await plane.blobs();
  for (const size of [1, 50_000]) {
    const refused = await upload(content as Buffer, owner, size);
    expect([refused.status, refused.json().code]).toEqual([400, "bad_request"]);
  }
  expect(await plane.blobs()).toBe(before);
});
