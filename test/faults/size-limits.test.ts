/** Bodies of the largest size that is accepted, and one byte more. */
import { hash } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { archiveLimit } from "../../protocol/limits.ts";
import { addOwner, addSpec, type Owner } from "../helpers/plane/rows.ts";
import {
  addHeldJob,
  addTestWorker,
  ask,
  clientHeaders,
  stateHeaders,
  type TestWorker,
} from "../helpers/plane/plane.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { inPieces } from "../helpers/machine/pieces.ts";

const { plane } = planeForFile();
let owner: Owner;
let worker: TestWorker;
beforeAll(async () => {
  owner = await addOwner(plane.context.store);
  worker = await addTestWorker(plane, owner);
});

test("a state of 64 MiB is accepted, and one byte more is refused", async () => {
  const spec_id = await addSpec(plane.context.store, owner);
  const job = await addHeldJob(plane, owner, worker, { job_type: "DEPLOY", spec_id });
  const headers = stateHeaders(plane, job);
  const path = `/api/state/${spec_id}`;
  await ask(plane, "LOCK", path, { headers, json: { ID: "lock" } });
  const post = (body: string) => ask(plane, "POST", `${path}?ID=lock`, { headers, body });
  const stateText = (serial: number, pad: string) =>
    JSON.stringify({ version: 4, serial, lineage: "line", outputs: {}, resources: [], pad });
  const limit = 64 * 1024 * 1024;
  const padding = limit - stateText(1, "").length;
  const most = stateText(1, "x".repeat(padding));
  expect(most).toHaveLength(limit);
  expect((await post(most)).status).toBe(200);
  const refused = await post(stateText(2, "x".repeat(padding + 1)));
  expect([refused.status, refused.json().code]).toEqual([413, "payload_too_large"]);
  const { body } = await ask(plane, "GET", path, { headers });
  expect(hash("md5", body)).toBe(hash("md5", most));
});

test("an artifact of 50 MB is stored, and one byte more is refused and leaves nothing behind", async () => {
  const limit = 52_428_800;
  const upload = ({ id }: { id: string }, body: Buffer | AsyncIterable<Uint8Array>) =>
    ask(plane, "POST", `/api/jobs/${id}/plan-artifact`, { headers: worker.headers, body });
  const job = await addHeldJob(plane, owner, worker);
  const most = Buffer.alloc(limit, "x");
  expect((await upload(job, most)).json()).toMatchObject({ size_bytes: limit });
  const before = await plane.blobs();
  const another = await addHeldJob(plane, owner, worker);
  const over = Buffer.alloc(limit + 1, "x");
  for (const body of [over, inPieces(over)]) {
    const refused = await upload(another, body);
    expect([refused.status, refused.json().code]).toEqual([413, "payload_too_large"]);
  }
  expect(await plane.blobs()).toBe(before);
  const download = await ask(plane, "GET", `/api/jobs/${another.id}/plan-artifact`, {
    headers: worker.headers,
  });
  expect(download.status).toBe(404);
});

test("an archive over 50 MB is refused with payload_too_large", async () => {
  const before = await plane.blobs();
  const over = Buffer.concat([Buffer.of(0x1f, 0x8b), Buffer.alloc(archiveLimit - 1)]);
  const refused = await ask(plane, "POST", "/api/cli/archives", {
    headers: await clientHeaders(plane, owner),
    body: inPieces(over, 50_000),
  });
  expect(refused.json().code).toBe("payload_too_large");
  expect(await plane.blobs()).toBe(before);
});
