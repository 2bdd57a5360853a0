/** Fetches files of a release: bounded in size, gone on with when the network fails, and whole or not at all. */
import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { interceptors, request, type Dispatcher } from "undici";
import { backoff } from "../../../common/backoff.ts";
import { retry } from "../../../common/retry.ts";
import { dispatcherOf, type Network } from "../../machine/network.ts";

/** The server answers, but not with the file. `status` tells an absent file from a failing server. */
class FetchRefused extends Error {
  override readonly name = "FetchRefused";
  readonly status: number;
  /** In seconds. */
  readonly retryAfter: number;
  constructor(address: string, status: number, retryAfter: number) {
    super(`${address} answered ${status}`);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/** More came than such a file can have. */
class TooLarge extends Error {
  override readonly name = "TooLarge";
}

export interface FetchOptions {
  readonly limit: number;
  readonly network: Network;
  readonly signal: AbortSignal;
  /** Told the bytes so far. */
  onBytes?(count: number): void;
}

/** A redirect from https to http, which anyone on the network path could answer. */
class Downgraded extends Error {
  override readonly name = "Downgraded";
}

/** The content of a small file. */
export async function fetchBytes(address: string, options: FetchOptions): Promise<Buffer> {
  const parts: Buffer[] = [];
  await fetchInto(address, options, {
    begin: () => void (parts.length = 0),
    write: (part) => void parts.push(part),
  });
  return Buffer.concat(parts);
}

/** Writes the content into a new file; answers its SHA-256. */
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

/** Where the content goes. */
interface Target {
  /** From the first byte, whatever was written before. */
  begin(): Promise<void> | void;
  write(part: Buffer): Promise<void> | void;
}

/** How far a download has come. */
interface Progress {
  bytes: number;
  /** By which the server knows the file again, so that the rest of it can be asked for. */
  validator: string | undefined;
}

/** In a row without a new byte, and in all. */
const vainTries = 3;
const mostTries = 20;

/** Where it breaks off it goes on, if the server knows the file again, and else begins again. */
async function fetchInto(address: string, options: FetchOptions, target: Target): Promise<void> {
  const agent = dispatcherOf(options.network);
  // A mirror may keep the files elsewhere. What comes from there is checked all the same.
  const dispatcher = agent.compose(interceptors.redirect({ maxRedirections: 3 }));
  const progress: Progress = { bytes: 0, validator: undefined };
  let [best, vain] = [0, 0];
  try {
    await retry(() => once(address, options, dispatcher, target, progress), {
      signal: options.signal,
      next: (error, tried) => {
        vain = progress.bytes > best ? 1 : vain + 1;
        best = Math.max(best, progress.bytes);
        if (isFinal(error) || vain === vainTries || tried === mostTries) return undefined;
        const wish = error instanceof FetchRefused ? error.retryAfter : 0;
        return backoff(vain, Math.random(), Math.min(wish, longestWish));
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
  error instanceof TooLarge ||
  error instanceof Downgraded ||
  (error instanceof FetchRefused && error.status < 500 && !passing.has(error.status));

/** Too slow, too many requests, or not the part that was asked for. */
const passing = new Set([206, 408, 416, 429]);
/** Seconds that a server may ask to wait for. */
const longestWish = 60;

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
  const { "retry-after": retryAfter } = answer.headers;
  const [, from, size] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(String(range)) ?? [];
  const isRest = answer.statusCode === 206 && bytes > 0 && Number(from) === bytes;
  if (!isRest) forget(progress);
  if (answer.statusCode !== 200 && !isRest) {
    await answer.body.dump();
    throw new FetchRefused(address, answer.statusCode, Number(retryAfter) || 0);
  }
  if (!isRest) {
    await target.begin();
    const strong = [etag, modified].find((one) => typeof one === "string" && !one.startsWith("W/"));
    progress.validator = strong as string | undefined;
  }
  for await (const part of answer.body as AsyncIterable<Buffer>) {
    if (progress.bytes + part.length > limit)
      throw new TooLarge(`${address} is larger than ${limit} bytes`);
    try {
      await target.write(part);
    } catch (error) {
      // A part of it may stand there.
      forget(progress);
      throw error;
    }
    progress.bytes += part.length;
    onBytes?.(progress.bytes);
  }
  // A server may give less than the rest that it was asked for.
  if (isRest && progress.bytes < Number(size))
    throw new Error(`${address} has only come to byte ${progress.bytes} of ${size}`);
}

const forget = (progress: Progress): void =>
  void Object.assign(progress, { bytes: 0, validator: undefined });

/** What came is checked by its signature all the same; a mirror that does this is set up wrongly. */
function refuseDowngrade(address: string, context: unknown): void {
  const { history = [] } = (context ?? {}) as { history?: readonly URL[] };
  const plain = history.find(({ protocol }) => protocol !== "https:");
  if (address.startsWith("https:") && plain) {
    throw new Downgraded(`${address} leads to ${plain.origin}, which is not https`);
  }
}
