/** Fetches files of a release: bounded in size, repeated when the network fails, and whole or not at all. */
import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { interceptors, request, type Dispatcher } from "undici";
import { backoff } from "../backoff.ts";
import { dispatcherOf, type Network } from "../network.ts";

/** The server answers, but not with the file. `status` tells an absent file from a failing server. */
class FetchRefused extends Error {
  override readonly name = "FetchRefused";
  readonly status: number;
  constructor(address: string, status: number) {
    super(`${address} answered ${status}`);
    this.status = status;
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

/** Whoever asks by https is not to be led to where anybody on the way may answer. */
class Downgraded extends Error {
  override readonly name = "Downgraded";
}

/** The content of a small file. */
export async function fetchBytes(address: string, options: FetchOptions): Promise<Buffer> {
  return repeated(address, options, async (body) => {
    const parts: Buffer[] = [];
    for await (const part of body) parts.push(part as Buffer);
    return Buffer.concat(parts);
  });
}

/** Writes the content into a file; answers its SHA-256. */
export async function fetchFile(
  address: string,
  file: string,
  options: FetchOptions,
): Promise<string> {
  return repeated(address, options, async (body) => {
    const hash = createHash("sha256");
    // Made before anything can fail: a stream that opens its file by itself may still do so after its folder was given up.
    await using handle = await open(file, "w", 0o600);
    for await (const part of body as AsyncIterable<Buffer>) {
      hash.update(part);
      await handle.appendFile(part);
    }
    return hash.digest("hex");
  });
}

const tries = 3;

async function repeated<T>(
  address: string,
  options: FetchOptions,
  read: (body: Transform) => Promise<T>,
): Promise<T> {
  const agent = dispatcherOf(options.network);
  // A mirror may keep the files elsewhere. What comes from there is checked all the same.
  const dispatcher = agent.compose(interceptors.redirect({ maxRedirections: 3 }));
  try {
    for (let tried = 1; ; tried++) {
      try {
        return await once(address, options, dispatcher, read);
      } catch (error) {
        options.signal.throwIfAborted();
        const isFinal =
          error instanceof TooLarge ||
          error instanceof Downgraded ||
          (error instanceof FetchRefused && error.status < 500);
        if (isFinal || tried === tries) throw error;
        await sleep(backoff(tried, Math.random()), undefined, { signal: options.signal });
      }
    }
  } finally {
    await agent.destroy();
  }
}

async function once<T>(
  address: string,
  { limit, signal, onBytes }: FetchOptions,
  dispatcher: Dispatcher,
  read: (body: Transform) => Promise<T>,
): Promise<T> {
  const answer = await request(address, {
    dispatcher,
    signal,
    headersTimeout: 30_000,
    bodyTimeout: 30_000,
  });
  refuseDowngrade(address, answer.context);
  if (answer.statusCode !== 200) {
    await answer.body.dump();
    throw new FetchRefused(address, answer.statusCode);
  }
  let count = 0;
  const bounded = new Transform({
    transform(part: Buffer, _encoding, done) {
      count += part.length;
      onBytes?.(count);
      if (count > limit) done(new TooLarge(`${address} is larger than ${limit} bytes`));
      else done(null, part);
    },
  });
  // Both are over before the caller goes on, also when one of them has failed.
  const [piped, result] = await Promise.allSettled([pipeline(answer.body, bounded), read(bounded)]);
  if (piped.status === "rejected") throw piped.reason;
  if (result.status === "rejected") throw result.reason;
  return result.value;
}

/** What came is checked by its signature all the same; a mirror that does this is set up wrongly. */
function refuseDowngrade(address: string, context: unknown): void {
  const { history = [] } = (context ?? {}) as { history?: readonly URL[] };
  const plain = history.find(({ protocol }) => protocol !== "https:");
  if (address.startsWith("https:") && plain) {
    throw new Downgraded(`${address} leads to ${plain.origin}, which is not https`);
  }
}
