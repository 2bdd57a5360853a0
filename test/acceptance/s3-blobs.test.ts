/** Blobs in S3: the contract of every blob store, what only S3 can do wrong, and a server on it. */
import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import {
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
} from "@aws-sdk/client-s3";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { makeBackup } from "../../control-plane/backup/backup.ts";
import { restoreBackup } from "../../control-plane/backup/restore.ts";
import type { Blobs } from "../../control-plane/blobs/blobs.ts";
import { s3Blobs } from "../../control-plane/blobs/s3.ts";
import type { S3Place } from "../../control-plane/blobs/s3-place.ts";
import { sealedBlobs } from "../../control-plane/blobs/sealed.ts";
import { readConfig } from "../../control-plane/config.ts";
import { secretBox } from "../../control-plane/domain/secret-box.ts";
import { startServer, type RunningServer } from "../../control-plane/server.ts";
import { blobsContract } from "../control-plane/blobs/contract.ts";
import { inPieces } from "../helpers/machine/pieces.ts";
import {
  isVersity,
  lackOfS3,
  s3Credentials,
  startS3,
  type S3Server,
} from "../helpers/store/s3-server.ts";
import { addHeldJob, ask, readRows, type Plane } from "../helpers/plane/plane.ts";
import { addJob, addOwner, addRows } from "../helpers/plane/rows.ts";
import { addTestUser } from "../helpers/people/user.ts";
import { s3FaultProxy, type S3FaultProxy } from "../helpers/store/s3-fault-proxy.ts";
import { skipAt } from "../helpers/project/tools.ts";

skipAt(lackOfS3);

const Bucket = "blobs";
/** For findings that a server caches for some seconds. */
const patience = { timeout: 60_000, interval: 200 };
let s3: S3Server;
let proxy: S3FaultProxy;
let direct: S3Client;
const environment = { ...process.env };
beforeAll(async () => {
  if (lackOfS3 !== undefined) return;
  s3 = await startS3(Bucket);
  proxy = await s3FaultProxy(s3.url);
  Object.assign(process.env, {
    AWS_ENDPOINT_URL_S3: proxy.url,
    AWS_REGION: "us-east-1",
    ...s3Credentials,
  });
  direct = new S3Client({ endpoint: s3.url, forcePathStyle: true });
});
afterEach(() => {
  if (proxy) proxy.fault = () => undefined;
});
afterAll(async () => {
  direct?.destroy();
  await proxy?.[Symbol.asyncDispose]();
  await s3?.[Symbol.asyncDispose]();
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
  Object.assign(process.env, environment);
});

let prefixes = 0;
let place: S3Place;
async function open(more: Partial<S3Place> = {}): Promise<Blobs> {
  prefixes += 1;
  const prefix = `windlass/${prefixes}`;
  const plain = { encryption: undefined, kmsKey: undefined } as const;
  place = { bucket: Bucket, prefix, isPathStyle: true, ...plain, ...more };
  return s3Blobs(place);
}

const keys = async () =>
  (
    (await direct.send(new ListObjectsV2Command({ Bucket, Prefix: `${place.prefix}/` })))
      .Contents ?? []
  ).map(({ Key = "" }) => Key);
const uploads = async () =>
  (await direct.send(new ListMultipartUploadsCommand({ Bucket }))).Uploads ?? [];
const left = async () => (await keys()).length + (await uploads()).length;
const readAll = async (blobs: Blobs, blob: string) => buffer(await blobs.read(blob));

describe("in S3", () => {
  blobsContract(open, left);
});
describe("sealed in S3", () => {
  const box = secretBox(["a key that is long enough, at least here"], "blobs");
  blobsContract(async () => sealedBlobs(await open(), box), left);
});

const large = randomBytes(13_000_000);
const write = (blobs: Blobs, content = large) => blobs.write(inPieces(content), content.length);

test("content of several parts is visible only when it is complete", async () => {
  const blobs = await open();
  let seen: string[] = ["none yet"];
  const watched = async function* () {
    yield* inPieces(large.subarray(0, 12_000_000));
    seen = await keys();
    yield large.subarray(12_000_000);
  };
  const { blob } = await blobs.write(watched(), Infinity);
  expect(seen).toEqual([]);
  expect(await keys()).toEqual([`${place.prefix}/${blob.slice(0, 2)}/${blob.slice(2)}`]);
  expect((await readAll(blobs, blob)).equals(large)).toBe(true);
  expect(proxy.seen.filter((call) => /^PUT .*partNumber=/.test(call)).length).toBeGreaterThan(1);
});

test("content of several parts that breaks off leaves neither an object nor an upload", async () => {
  const blobs = await open();
  const broken = (async function* () {
    yield* inPieces(large);
    throw new Error("the line was cut");
  })();
  await expect(blobs.write(broken, Infinity)).rejects.toThrow("the line was cut");
  await expect(blobs.write(inPieces(large), 12_000_000)).rejects.toMatchObject({
    code: "payload_too_large",
  });
  expect(await left()).toBe(0);
});

test("an upload that a crash left is swept, and one of another prefix stays", async () => {
  const blobs = await open();
  for (const Key of [`${place.prefix}/ab/cd`, "elsewhere/ab/cd"])
    await direct.send(new CreateMultipartUploadCommand({ Bucket, Key }));
  await blobs.sweep(0);
  expect(await uploads()).toHaveLength(2);
  await blobs.sweep(Date.now() + 1000);
  expect((await uploads()).map(({ Key }) => Key)).toEqual(["elsewhere/ab/cd"]);
  // Nor one of this process, however long it takes.
  const slow = async function* () {
    yield* inPieces(large);
    await blobs.sweep(Date.now() + 1000);
  };
  const { blob } = await blobs.write(slow(), Infinity);
  expect((await readAll(blobs, blob)).equals(large)).toBe(true);
  const elsewhere: S3Place = { ...place, prefix: "elsewhere" };
  await (await s3Blobs(elsewhere)).sweep(Date.now() + 1000);
  expect(await uploads()).toEqual([]);
});

test("the store is asked to encrypt, and to refuse to replace an object", async ({ skip }) => {
  skip(isVersity, "needs a store that encrypts: versitygw does not");
  const blobs = await open({ encryption: "aws:kms", kmsKey: "alias/windlass" });
  for (const content of [Buffer.from("short"), large]) {
    const { blob } = await write(blobs, content);
    const Key = `${place.prefix}/${blob.slice(0, 2)}/${blob.slice(2)}`;
    const head = await direct.send(new HeadObjectCommand({ Bucket, Key }));
    expect(head.ServerSideEncryption).toBe("aws:kms");
    expect(head.SSEKMSKeyId).toContain("alias/windlass");
  }
});

describe("while the store fails", () => {
  test.for(["error", "lose", "cut"] as const)(
    "a request that meets the fault %s once succeeds",
    async (fault) => {
      const blobs = await open();
      for (const content of [Buffer.from("short"), large]) {
        const met = new Set<string>();
        // Each kind of request once; a cut is within what is read.
        proxy.fault = ({ method, url }) => {
          const kind = `${method} ${/partNumber|uploads|uploadId/.exec(url)?.[0] ?? ""}`;
          if (met.has(kind) || (fault === "cut" && method !== "GET")) return undefined;
          met.add(kind);
          return fault;
        };
        const { blob } = await write(blobs, content);
        expect((await readAll(blobs, blob)).equals(content)).toBe(true);
        expect(met.size).toBeGreaterThan(0);
      }
    },
  );

  test("everything is refused with 503, names no credential, and works again afterwards", async () => {
    const blobs = await open();
    const { blob } = await write(blobs, Buffer.from("before"));
    proxy.fault = () => "error";
    const calls: (() => Promise<unknown>)[] = [
      () => write(blobs, Buffer.from("now")),
      () => write(blobs),
      () => blobs.read(blob),
      () => blobs.list()[Symbol.asyncIterator]().next(),
      () => blobs.writtenAt(blob),
      () => blobs.delete(blob),
      () => blobs.sweep(0),
    ];
    for (const call of calls) {
      const error: unknown = await call().then(
        () => "no error",
        (thrown: unknown) => thrown,
      );
      expect(error).toMatchObject({
        code: "storage_unavailable",
        message: expect.stringMatching(/responds with 500/),
      });
      expect(`${(error as Error).stack}${JSON.stringify(error)}`).not.toContain("planted-");
    }
    proxy.fault = () => undefined;
    expect((await readAll(blobs, blob)).toString()).toBe("before");
    await write(blobs);
  }, 120_000);

  test.for(["garble", "short", "empty"] as const)(
    "content is read right although two responses are lies (%s)",
    async (lie) => {
      const blobs = sealedBlobs(await open(), secretBox(["k".repeat(40)], "blobs"));
      const { blob } = await write(blobs);
      let gets = 0;
      // The name of the blob, and a part from its middle.
      proxy.fault = ({ method }) =>
        method === "GET" && [1, 6].includes((gets += 1)) ? lie : undefined;
      expect((await readAll(blobs, blob)).equals(large)).toBe(true);
      expect(gets).toBeGreaterThan(6);
    },
  );

  test("content is refused, and not taken for stored, while the store lies about it", async () => {
    const blobs = sealedBlobs(await open(), secretBox(["k".repeat(40)], "blobs"));
    const { blob } = await write(blobs);
    proxy.fault = ({ method }) => (method === "GET" ? "garble" : undefined);
    await expect(readAll(blobs, blob)).rejects.toThrow("it is damaged");
    proxy.fault = ({ method }) => (method === "GET" ? "empty" : undefined);
    await expect(readAll(blobs, blob)).rejects.toMatchObject({ code: "storage_unavailable" });
    proxy.fault = ({ method }) => (method === "PUT" ? "checksum" : undefined);
    const before = await left();
    for (const content of [Buffer.from("short"), large])
      await expect(write(blobs, content)).rejects.toMatchObject({ code: "storage_unavailable" });
    expect(await left()).toBe(before);
    proxy.fault = () => undefined;
    expect((await readAll(blobs, blob)).equals(large)).toBe(true);
  });

  test("an upload is refused, and nothing of it stays, if the store completes other bytes", async () => {
    const blobs = sealedBlobs(await open(), secretBox(["k".repeat(40)], "blobs"));
    const before = await left();
    const completes = ({ method, url }: { method: string; url: string }) =>
      method === "POST" && url.includes("uploadId");
    proxy.fault = (call) => (completes(call) ? "drop" : undefined);
    await expect(write(blobs)).rejects.toMatchObject({ code: "storage_unavailable" });
    // A part under another ETag cannot be completed.
    proxy.fault = ({ url }) => (url.includes("partNumber=2") ? "etag" : undefined);
    await expect(write(blobs)).rejects.toMatchObject({ code: "storage_unavailable" });
    expect(await left()).toBe(before);
    // What the store calls the whole makes no difference.
    proxy.fault = (call) => (completes(call) ? "etag" : undefined);
    const { blob } = await write(blobs);
    expect((await readAll(blobs, blob)).equals(large)).toBe(true);
  });

  test("a store that is not there at the start is no error, and is used when it is", async () => {
    proxy.fault = () => "error";
    const blobs = await open();
    await expect(blobs.read("0".repeat(32))).rejects.toMatchObject({ code: "storage_unavailable" });
    proxy.fault = () => undefined;
    await write(blobs, Buffer.from("now"));
  });

  test("a read ends in time if the store hangs, however often it is asked", async () => {
    const { blob } = await (
      await open()
    ).write(inPieces(randomBytes(3 * 1024 ** 2), 65_536), Infinity);
    const blobs = await s3Blobs(place, {}, 500);
    const content = await blobs.read(blob);
    // Its first window is there.
    proxy.fault = ({ method }) => (method === "GET" ? "hang" : undefined);
    const refusal = { code: "storage_unavailable" };
    await expect(buffer(content)).rejects.toMatchObject(refusal);
    await expect(blobs.read(blob)).rejects.toMatchObject(refusal);
  });

  test("a slow reader holds no connection, and reads on", async () => {
    const blobs = await open();
    const { blob } = await write(blobs);
    const readers = await Promise.all(Array.from({ length: 60 }, () => blobs.read(blob)));
    // More than the SDK opens connections: all would wait if each reader held one.
    expect((await readAll(blobs, blob)).equals(large)).toBe(true);
    expect((await buffer(readers[0]!)).equals(large)).toBe(true);
    for (const reader of readers) reader.destroy();
  });
});

test.for<[string, Partial<S3Place>, string]>([
  ["a bucket that does not exist", { bucket: "not-there" }, "the bucket does not exist"],
])("%s ends the start with what to do", async ([, more, why]) => {
  await expect(open(more)).rejects.toThrow(why);
  await expect(open(more)).rejects.toThrow("WINDLASS_ARTIFACTS_URL (s3://not-there");
});

test("missing credentials, or a missing region, end the start with what to do", async () => {
  const { AWS_ACCESS_KEY_ID: id, AWS_REGION: region } = process.env;
  Object.assign(process.env, {
    AWS_EC2_METADATA_DISABLED: "true",
    AWS_CONFIG_FILE: "/dev/null",
    AWS_SHARED_CREDENTIALS_FILE: "/dev/null",
  });
  delete process.env["AWS_ACCESS_KEY_ID"];
  await expect(open()).rejects.toThrow("there are no AWS credentials");
  process.env["AWS_ACCESS_KEY_ID"] = id;
  delete process.env["AWS_REGION"];
  await expect(open()).rejects.toThrow("AWS_REGION must be set");
  process.env["AWS_REGION"] = region;
});

describe("a server whose files are in S3", () => {
  let directory: string;
  let server: RunningServer;
  let url: string;
  const settings = () => ({
    WINDLASS_DATA_DIR: directory,
    WINDLASS_PORT: "0",
    WINDLASS_ARTIFACTS_URL: url,
    WINDLASS_S3_PATH_STYLE: "1",
    WINDLASS_TEST_LIMITS: '{"logArchiveSeconds": 0.01}',
  });
  const start = async (): Promise<Plane> => {
    server = await startServer(readConfig(settings()), pino({ level: "silent" }));
    return { url: server.url, directory, context: server.context } as Plane;
  };
  const newPlace = async () => {
    prefixes += 1;
    url = `s3://${Bucket}/server/${prefixes}`;
    directory = await mkdtemp(join(tmpdir(), "s3-"));
  };
  const objects = async () => {
    const Prefix = `server/${prefixes}/`;
    return (await direct.send(new ListObjectsV2Command({ Bucket, Prefix }))).KeyCount ?? 0;
  };

  test("keeps plans and logs there, and reads any part of them", async () => {
    await newPlace();
    const plane = await start();
    const { owner, worker, runner, headers } = await addTestUser(plane);
    const job = await addHeldJob(plane, owner, worker);
    const params = { id: job.id };
    const plan = large.subarray(0, 7_000_000);
    const path = `/api/jobs/${job.id}/plan-artifact`;
    const upload = () =>
      ask(plane, "POST", path, {
        headers: { ...worker.headers, "content-type": "application/octet-stream" },
        body: plan,
      });
    proxy.fault = () => "error";
    const refused = await upload();
    expect(refused.status).toBe(503);
    expect(refused.json()).toMatchObject({ code: "storage_unavailable" });
    expect(refused.headers["retry-after"]).toBeDefined();
    // A load balancer must not remove a server, and with it all of them, for the lack of S3.
    const readyz = async () => {
      const { status, text } = await ask(plane, "GET", "/readyz");
      return { status, saysAway: text.includes("object store is not available") };
    };
    await expect.poll(readyz, patience).toEqual({ status: 200, saysAway: true });
    const metrics = await ask(plane, "GET", "/metrics");
    expect(metrics.text).toContain('windlass_storage_working{part="files"} 0');
    expect(metrics.text).toContain('windlass_storage_working{part="database"} 1');
    await runner.call("heartbeat", { body: { version: "1.0.0", active_job_ids: [job.id] } });
    proxy.fault = () => undefined;
    await expect.poll(readyz, patience).toEqual({ status: 200, saysAway: false });
    expect((await upload()).status).toBe(201);
    const range = { ...worker.headers, range: "bytes=6000000-6000099" };
    const part = await ask(plane, "GET", path, { headers: range });
    expect(part.status).toBe(206);
    expect(part.body.equals(plan.subarray(6_000_000, 6_000_100))).toBe(true);

    const logs = `/api/cli/jobs/${job.id}/logs`;
    const chunks = Array.from({ length: 100 }, (_, index) => ({
      seq: index + 1,
      stream_type: "STDOUT" as const,
      log_chunk: `${index} `.repeat(2000),
    }));
    await runner.ask("appendLogs", { params, body: { chunks } });
    const before = await ask(plane, "GET", logs, { headers });
    await runner.ask("reportStatus", { params, body: { status: "SUCCESS" } });
    await expect.poll(() => readRows(plane, "log_chunks")).toEqual([]);
    const after = await ask(plane, "GET", logs, { headers });
    expect(after.text).toBe(before.text);
    expect(await objects()).toBe(2);
    expect((await readdir(directory)).includes("blobs")).toBe(false);
    // While the store fails, a reader gets an error, not an empty log, and a runner that repeats
    // what is in the archive is not refused.
    proxy.fault = () => "error";
    expect((await ask(plane, "GET", logs, { headers })).status).toBe(503);
    await runner.ask("appendLogs", { params, body: { chunks } });
    proxy.fault = () => undefined;
    expect((await ask(plane, "GET", logs, { headers })).text).toBe(before.text);
    // The store has another byte than it was sent: no runner gets a whole plan that differs.
    const other = await addHeldJob(plane, owner, worker);
    const rotten = `/api/jobs/${other.id}/plan-artifact`;
    const octets = { ...worker.headers, "content-type": "application/octet-stream" };
    proxy.fault = ({ method }) => (method === "PUT" ? "rot" : undefined);
    const stored = await ask(plane, "POST", rotten, { headers: octets, body: plan });
    proxy.fault = () => undefined;
    // A real store compares the checksum and refuses it; moto does not.
    expect(stored.status).toBe(isVersity ? 503 : 201);
    const got = await ask(plane, "GET", rotten, { headers: worker.headers }).catch(() => undefined);
    expect(got?.status).not.toBe(200);
    await server.close();
    await rm(directory, { recursive: true });
  });

  test("is backed up without them, and restored where the bucket is the same", async () => {
    await newPlace();
    const plane = await start();
    const { blob } = await plane.context.blobs.write(inPieces(large), large.length);
    const owner = await addOwner(plane.context.store);
    const job = await addJob(plane.context.store, owner);
    const row = { job_id: job.id, attempt: 1, blob, size_bytes: 1, sha256: "", created_at: 1 };
    await addRows(plane.context.store, "plan_artifacts", row);
    const file = join(directory, "backup.tar.gz");
    const made = await makeBackup(readConfig(settings()), file, true);
    expect(made).toMatchObject({ blobs: 1, bucket: url });
    await server.close();
    const copy = join(directory, "copy");
    const elsewhere = { ...settings(), WINDLASS_DATA_DIR: copy };
    await expect(
      restoreBackup(readConfig({ WINDLASS_DATA_DIR: copy }), file, false),
    ).rejects.toThrow(`set WINDLASS_ARTIFACTS_URL to it`);
    await restoreBackup(readConfig(elsewhere), file, false);
    const restored = await startServer(readConfig(elsewhere), pino({ level: "silent" }));
    expect((await buffer(await restored.context.blobs.read(blob))).equals(large)).toBe(true);
    await restored.close();
    await rm(directory, { recursive: true });
  });
});
