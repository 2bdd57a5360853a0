/** Downloads files of a release within a limit, resumed after failures, complete or not at all. */
import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { redirect, request, type Dispatcher } from "../../../common/http-client.ts";
import { backoff } from "../../../common/backoff.ts";
import { retry } from "../../../common/retry.ts";
import { dispatcherOf } from "../../../common/http-proxies.ts";
import type { Network } from "../../../common/network.ts";
import { retryAfter } from "../../../common/retry-after.ts";
import { minute, second } from "../../../common/units.ts";

/** The server sent no file. `status` distinguishes a missing file from a failing server. */
class FetchRefusedError extends Error {
  override readonly name = "FetchRefusedError";
  readonly status: number;
  /** In milliseconds. */
  readonly retryAfter: number;
  constructor(address: string, status: number, retryAfter: number) {
    super(`${address} responded with status ${status}`);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/** The file is larger than such a file can be. */
class TooLargeError extends Error {
  override readonly name = "TooLargeError";
}

export interface FetchOptions {
  readonly limit: number;
  readonly network: Network;
  readonly signal: AbortSignal;
  /** Called with the number of bytes so far. */
  onBytes?(count: number): void;
}

/** A redirect from https to http, where anyone on the network could send the response. */
class DowngradeError extends Error {
  override readonly name = "DowngradeError";
}

export async function fetchBytes(address: string, options: FetchOptions): Promise<Buffer> {
  const parts: Buffer[] = [];
  await fetchInto(address, options, {
    begin: () => void (parts.length = 0),
    write: (part) => void parts.push(part),
  });
  return Buffer.concat(parts);
}

/** Writes the content into a new file. Returns its SHA-256. */
export async function fetchFile(
  address: string,
  file: string,
  options: FetchOptions,
): Promise<string> {
  let hash = createHash("sha256");
  await using handle = await open(file, "ax", 0o600);
  await fetchInto(address, options, {
    begin: async () => {
      hash = createHash("sha256");
      await handle.truncate();
    },
    write: async (part) => {
      hash.update(part);
      await handle.appendFile(part);
    },
  });
  return hash.digest("hex");
}

interface Target {
  /** Starts with the first byte, whatever was written before. */
  begin(): Promise<void> | void;
  write(part: Buffer): Promise<void> | void;
}

interface Progress {
  bytes: number;
  /** The `ETag` of the file, with which the rest of it can be requested. */
  validator: string | undefined;
}

/** The limits of attempts: in a row without a new byte, and in total. */
const vainTries = 3;
const mostTries = 20;

/** Continues if the file at the server is the same, else starts again. */
async function fetchInto(address: string, options: FetchOptions, target: Target): Promise<void> {
  const agent = dispatcherOf(options.network);
  // A mirror may keep the files elsewhere. What comes from there is verified too.
  const dispatcher = agent.compose(redirect({ maxRedirections: 3 }));
  const progress: Progress = { bytes: 0, validator: undefined };
  let [best, vain] = [0, 0];
  try {
    await retry(() => once(address, options, dispatcher, target, progress), {
      signal: options.signal,
      next: (error, tried) => {
        vain = progress.bytes > best ? 1 : vain + 1;
        best = Math.max(best, progress.bytes);
        if (isFinal(error) || vain === vainTries || tried === mostTries) return undefined;
        const wish = error instanceof FetchRefusedError ? error.retryAfter : 0;
        return backoff(vain, Math.random(), wish / second);
      },
    });
  } catch (error) {
    options.signal.throwIfAborted();
    throw error;
  } finally {
    await agent.destroy();
  }
}

const isFinal = (error: unknown): boolean =>
  error instanceof TooLargeError ||
  error instanceof DowngradeError ||
  (error instanceof FetchRefusedError && error.status < 500 && !passing.has(error.status));

/** Too slow, too many requests, or not the part that was requested. */
const passing = new Set([206, 408, 416, 429]);
/** The longest `Retry-After` that is honoured: a job waits. */
const longestWish = minute;

async function once(
  address: string,
  { limit, signal, onBytes }: FetchOptions,
  dispatcher: Dispatcher,
  target: Target,
  progress: Progress,
): Promise<void> {
  const { bytes, validator } = progress;
  const answer = await request(address, {
    dispatcher,
    signal,
    headersTimeout: 30_000,
    bodyTimeout: 30_000,
    headers: bytes > 0 && validator ? { range: `bytes=${bytes}-`, "if-range": validator } : {},
  });
  refuseDowngrade(address, answer.context);
  const { "content-range": range, etag, "last-modified": modified } = answer.headers;
  const [, from, size] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(String(range)) ?? [];
  const isRest = answer.statusCode === 206 && bytes > 0 && Number(from) === bytes;
  if (!isRest) forget(progress);
  if (answer.statusCode !== 200 && !isRest) {
    await answer.body.dump();
    const wait = retryAfter(answer.headers["retry-after"], longestWish) ?? 0;
    throw new FetchRefusedError(address, answer.statusCode, wait);
  }
  if (!isRest) {
    await target.begin();
    const strong = [etag, modified].find((one) => typeof one === "string" && !one.startsWith("W/"));
    progress.validator = strong as string | undefined;
  }
  for await (const part of answer.body as AsyncIterable<Buffer>) {
    if (progress.bytes + part.length > limit)
      throw new TooLargeError(`${address} is larger than ${limit} bytes`);
    try {
      await target.write(part);
    } catch (error) {
      // The file may have part of it already.
      forget(progress);
      throw error;
    }
    progress.bytes += part.length;
    onBytes?.(progress.bytes);
  }
  // A server may send less than the rest that was requested.
  if (isRest && progress.bytes < Number(size))
    throw new Error(`${address} has sent only ${progress.bytes} of ${size} bytes`);
}

const forget = (progress: Progress): void =>
  void Object.assign(progress, { bytes: 0, validator: undefined });

/** The signature verifies the download anyway, but such a mirror is misconfigured. */
function refuseDowngrade(address: string, context: unknown): void {
  const { history = [] } = (context ?? {}) as { history?: readonly URL[] };
  const plain = history.find(({ protocol }) => protocol !== "https:");
  if (address.startsWith("https:") && plain) {
    throw new DowngradeError(`${address} redirects to ${plain.origin}, which is not https`);
  }
}
