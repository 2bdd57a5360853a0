/**
 * Blobs as objects of a bucket: `<prefix>/<first two hex digits>/<the rest>`, the same layout as on
 * disk.
 *
 * Content of up to one part is one PUT; longer content is a multipart upload, which is visible only
 * when it is complete. Every request carries a SHA-256, and `If-None-Match: *` prevents an object
 * from being replaced. An interrupted upload is aborted; `sweep` aborts those that a crash left.
 *
 * An object is read in windows, each with a request of its own, so that a slow reader holds no
 * connection and a response that breaks off is repeated.
 */
import { createHash } from "node:crypto";
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
  type CompletedPart,
  type ListMultipartUploadsCommandOutput,
} from "@aws-sdk/client-s3";
import { nodeProxies, type Network } from "../../common/network.ts";
import { ConfigError } from "../../common/settings/config-error.ts";
import { mebibyte, second } from "../../common/units.ts";
import { storageUnavailable } from "../domain/refusal.ts";
import type { Blobs } from "./blobs.ts";
import { isName, newName, pathOf } from "./names.ts";
import { inPieces, measured } from "./pieces.ts";
import { isMistake, mistakeError, statusOf, storeError } from "./s3-errors.ts";
import { s3Address, type S3Place } from "./s3-place.ts";

/** The smallest part that S3 takes. Two of them are in memory for each upload. */
const partBytes = 5 * mebibyte;
/** One is in memory for each reader. */
const windowBytes = mebibyte;
/** How often a window is requested, if its response breaks off. */
const readAttempts = 3;
const readPause = 200;
/** A store that sends and takes nothing for `socketTimeout` hangs. */
const timeouts = {
  connectionTimeout: 3 * second,
  socketTimeout: 8 * second,
  requestTimeout: 30 * second,
};
/** The longest that a reader waits for the next window, with all attempts. */
const windowTimeout = 60 * second;

/** Empty without a proxy; otherwise like the SDK's own. */
function agentsFor(network: Network) {
  const proxyEnv = nodeProxies(network);
  if (!proxyEnv) return {};
  const options = { keepAlive: true, maxSockets: 50, proxyEnv };
  return { httpAgent: new HttpAgent(options), httpsAgent: new HttpsAgent(options) };
}

/** Throws `ConfigError` for wrong settings or a wrong bucket, not for an unavailable store. */
export async function s3Blobs(
  place: S3Place,
  network: Network = {},
  windowLimit = windowTimeout,
): Promise<Blobs> {
  const { bucket: Bucket, prefix, encryption, kmsKey } = place;
  const client = new S3Client({
    forcePathStyle: place.isPathStyle,
    maxAttempts: 3,
    // Our own digests are sent, and what is read is authenticated when it is opened.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: { ...timeouts, ...agentsFor(network), throwOnRequestTimeout: true },
  });
  const root = prefix === "" ? "" : `${prefix}/`;
  const keyOf = (blob: string): string => {
    return `${root}${pathOf(blob)}`;
  };
  const sealing = {
    ...(encryption === undefined ? {} : { ServerSideEncryption: encryption }),
    ...(kmsKey === undefined ? {} : { SSEKMSKeyId: kmsKey }),
  };

  /** The uploads of this process, which are never swept. */
  const running = new Set<string>();

  /** Whether an object of this size is there: names are random, so it is the one just written. */
  async function isStored(Key: string, size: number): Promise<boolean> {
    const found = await client.send(new HeadObjectCommand({ Bucket, Key }));
    return found.ContentLength === size;
  }

  /** Runs the request that creates an object. A response may get lost, and the request be repeated. */
  async function create(Key: string, size: number, request: () => Promise<unknown>): Promise<void> {
    try {
      await request();
    } catch (error) {
      const isRepeated = [404, 412].includes(statusOf(error) ?? 0);
      if (!isRepeated || !(await isStored(Key, size).catch(() => false))) throw error;
    }
  }

  const putWhole = (Key: string, Body: Buffer): Promise<void> =>
    create(Key, Body.length, async () => {
      const ChecksumSHA256 = digestOf(Body);
      const written = await client.send(
        new PutObjectCommand({
          Bucket,
          Key,
          Body,
          IfNoneMatch: "*",
          ContentLength: Body.length,
          ChecksumSHA256,
          ...sealing,
        }),
      );
      requireSame(ChecksumSHA256, written.ChecksumSHA256);
    });

  async function putPart(upload: Upload, Body: Buffer): Promise<void> {
    const PartNumber = upload.parts.length + 1;
    const ChecksumSHA256 = digestOf(Body);
    const { Key, UploadId } = upload;
    const { ETag, ChecksumSHA256: stored } = await client.send(
      new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body, ChecksumSHA256 }),
    );
    requireSame(ChecksumSHA256, stored);
    upload.parts.push({ ETag, PartNumber, ChecksumSHA256 });
    upload.size += Body.length;
  }

  async function begin(Key: string): Promise<Upload> {
    const { UploadId } = await client.send(
      new CreateMultipartUploadCommand({ Bucket, Key, ChecksumAlgorithm: "SHA256", ...sealing }),
    );
    running.add(UploadId ?? "");
    return { Key, UploadId: UploadId ?? "", parts: [], size: 0 };
  }

  async function complete({ Key, UploadId, parts: Parts, size }: Upload): Promise<void> {
    await create(Key, size, () =>
      client.send(
        new CompleteMultipartUploadCommand({
          Bucket,
          Key,
          UploadId,
          IfNoneMatch: "*",
          MultipartUpload: { Parts },
        }),
      ),
    );
    // Each part was compared when it was sent; the ETag of the whole says nothing if S3 encrypts.
    if (!(await isStored(Key, size))) throw storedOtherBytes();
  }

  /** Reads some bytes, and how many the object has. */
  async function readWindow(Key: string, start: number, end: number): Promise<Window> {
    const abortSignal = AbortSignal.timeout(windowLimit);
    for (let attempt = 1; ; attempt += 1) {
      try {
        const range = { Range: `bytes=${start}-${end}` };
        const { Body, ContentRange } = await client.send(
          new GetObjectCommand({ Bucket, Key, ...range }),
          { abortSignal },
        );
        if (Body === undefined) return nothing;
        const bytes = await bytesOf(Body as Readable, abortSignal);
        const window = windowOf(bytes, ContentRange, start);
        if (window !== undefined) return window;
        // The wrong bytes: treated as a response that broke off.
        throw new Error("the object store sent other bytes");
      } catch (error) {
        // Beyond the end.
        if (statusOf(error) === 416) return nothing;
        if (abortSignal.aborted) throw storeError({ name: "TimeoutError" });
        if (statusOf(error) !== undefined || attempt === readAttempts) throw storeError(error);
      }
      await pause(readPause * attempt);
    }
  }

  async function* windows(Key: string, first: Window, start: number, end: number) {
    let window = first;
    for (let at = start; window.bytes.length > 0;) {
      yield window.bytes;
      at += window.bytes.length;
      if (at > end || at >= window.total) return;
      window = await readWindow(Key, at, Math.min(end, at + windowBytes - 1));
    }
  }

  const blobs: Blobs = {
    write: async (content, limit, blob = newName()) => {
      const Key = keyOf(blob);
      const seen = { hash: createHash("sha256"), size: 0 };
      let upload: Upload | undefined;
      let held: Buffer | undefined;
      try {
        for await (const piece of inPieces(measured(content, limit, seen), partBytes)) {
          if (held !== undefined) {
            upload ??= await answered(begin(Key));
            await answered(putPart(upload, held));
          }
          held = piece;
        }
        const last = held ?? Buffer.alloc(0);
        if (upload === undefined) await answered(putWhole(Key, last));
        else await answered(putPart(upload, last).then(() => complete(upload as Upload)));
      } catch (error) {
        // What fails here too is left for `sweep`, or is an orphaned blob.
        const left = upload && { Bucket, Key, UploadId: upload.UploadId };
        if (left) await client.send(new AbortMultipartUploadCommand(left)).catch(() => undefined);
        // An upload may have been completed all the same.
        if (held !== undefined)
          await client.send(new DeleteObjectCommand({ Bucket, Key })).catch(() => undefined);
        throw error;
      } finally {
        running.delete(upload?.UploadId ?? "");
      }
      return { blob, size_bytes: seen.size, sha256: seen.hash.digest("hex") };
    },
    read: async (blob, range) => {
      const { start, end } = range ?? { start: 0, end: Infinity };
      const Key = keyOf(blob);
      const first = await readWindow(Key, start, Math.min(end, start + windowBytes - 1));
      return Readable.from(windows(Key, first, start, end), { objectMode: false });
    },
    list: async function* () {
      let ContinuationToken: string | undefined;
      do {
        const page = await answered(
          client.send(new ListObjectsV2Command({ Bucket, Prefix: root, ContinuationToken })),
        );
        yield (page.Contents ?? [])
          .map(({ Key = "" }) => Key.slice(root.length).replace("/", ""))
          .filter(isName);
        ContinuationToken = page.NextContinuationToken;
      } while (ContinuationToken !== undefined);
    },
    writtenAt: async (blob) => {
      try {
        const { LastModified } = await client.send(
          new HeadObjectCommand({ Bucket, Key: keyOf(blob) }),
        );
        return LastModified?.getTime() ?? Infinity;
      } catch (error) {
        if (statusOf(error) === 404) return Infinity;
        throw storeError(error);
      }
    },
    delete: async (blob) => {
      await answered(client.send(new DeleteObjectCommand({ Bucket, Key: keyOf(blob) })));
    },
    sweep: async (before) => {
      let [KeyMarker, UploadIdMarker]: (string | undefined)[] = [];
      do {
        const page: ListMultipartUploadsCommandOutput = await answered(
          client.send(
            new ListMultipartUploadsCommand({ Bucket, Prefix: root, KeyMarker, UploadIdMarker }),
          ),
        );
        for (const { Key, UploadId = "", Initiated } of page.Uploads ?? [])
          if ((Initiated?.getTime() ?? Infinity) < before && !running.has(UploadId))
            await answered(client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId })));
        [KeyMarker, UploadIdMarker] = page.IsTruncated
          ? [page.NextKeyMarker, page.NextUploadIdMarker]
          : [];
      } while (KeyMarker !== undefined);
    },
  };

  await checkRegion(client);
  try {
    await client.send(new ListObjectsV2Command({ Bucket, Prefix: root, MaxKeys: 1 }));
  } catch (error) {
    if (isMistake(error)) throw mistakeError(s3Address(place), error);
  }
  return blobs;
}

interface Upload {
  readonly Key: string;
  readonly UploadId: string;
  readonly parts: CompletedPart[];
  size: number;
}

interface Window {
  readonly bytes: Buffer;
  readonly total: number;
}
const nothing: Window = { bytes: Buffer.alloc(0), total: 0 };

/** Returns what a response is; undefined if it does not begin at `start` or lacks everything. */
function windowOf(bytes: Buffer, range: string | undefined, start: number): Window | undefined {
  const [, first, size] = /^bytes (\d+)-\d+\/(\d+)$/.exec(range ?? "") ?? [];
  // A store may answer with the whole object.
  const [at, total] = size === undefined ? [0, bytes.length] : [Number(first), Number(size)];
  return at === start && (bytes.length > 0 || at >= total) ? { bytes, total } : undefined;
}

/** Not every store says what it has stored; one that does must have stored what was sent. */
function requireSame(sent: string, stored: string | undefined): void {
  if (stored !== undefined && stored !== sent) throw storedOtherBytes();
}

const storedOtherBytes = (): Error =>
  storageUnavailable("the server's object store has stored other bytes than it was sent");

const digestOf = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("base64");

/** Maps errors of the object store, and of nothing else. */
async function answered<T>(request: Promise<T>): Promise<T> {
  try {
    return await request;
  } catch (error) {
    throw storeError(error);
  }
}

/** Reads a whole response, which must not take longer than a request may. */
async function bytesOf(body: Readable, signal: AbortSignal): Promise<Buffer> {
  const stop = (): void => void body.destroy(new Error("slow"));
  const timer = setTimeout(stop, timeouts.requestTimeout);
  signal.addEventListener("abort", stop);
  try {
    return Buffer.concat(await body.toArray());
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}

async function checkRegion(client: S3Client): Promise<void> {
  try {
    await client.config.region();
  } catch {
    throw new ConfigError(
      "AWS_REGION must be set to the region of the bucket in WINDLASS_ARTIFACTS_URL",
    );
  }
}
