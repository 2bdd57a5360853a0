/** Reaches no address that `Destinations` forbids, follows no redirect, bounds time and size. */
import { Agent, connectorOf, request, type Dispatcher } from "../../common/http-client.ts";
import { EnvHttpProxyAgent } from "../../common/http-proxies.ts";
import { isWithoutProxy, proxiesOf, type Network } from "../../common/network.ts";
import { kibibyte, mebibyte } from "../../common/units.ts";
import { DestinationError, Destinations } from "./destinations.ts";

/** A page of a hundred entries of a code host is below a megabyte. */
const answerLimit = 8 * mebibyte;

export interface OutboundRequest {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The response is not read, beyond what lets the connection be used again: `text` is empty. */
  readonly statusOnly?: boolean;
  /** Ends the request early. */
  readonly signal?: AbortSignal | undefined;
}

/** What is read of a response of which only the status counts. */
const dumpLimit = 16 * kibibyte;

export interface OutboundAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** The place did not answer, or not within the limits. The message is for people. */
export class OutboundError extends Error {
  override readonly name = "OutboundError";
}

export class Outbound {
  readonly #destinations: Destinations;
  readonly #direct: Agent;
  readonly #proxied: EnvHttpProxyAgent | undefined;
  readonly #noProxy: string;
  readonly #timeout: number;

  /** `timeout`: of a whole request, in milliseconds. */
  constructor(allowed: readonly string[] = [], timeout = 10_000, network: Network = {}) {
    this.#destinations = new Destinations(allowed);
    this.#timeout = timeout;
    const { lookup } = this.#destinations;
    const connect = connectorOf({ timeout, lookup });
    this.#direct = new Agent({ connect });
    const proxies = proxiesOf(network);
    this.#noProxy = proxies?.noProxy ?? "";
    this.#proxied = proxies && new EnvHttpProxyAgent({ connect, ...proxies, noProxy: "" });
  }

  /** Throws DestinationError for an address that may not be saved. */
  check(address: string): void {
    this.#route(new URL(address));
  }

  /** A proxy resolves names itself, so that no address is known to be judged. */
  #route(url: URL): Dispatcher {
    this.#destinations.check(url);
    if (!this.#proxied || isWithoutProxy(this.#noProxy, url)) return this.#direct;
    this.#destinations.checkName(url);
    return this.#proxied;
  }

  /** Throws OutboundError, and DestinationError if the place is forbidden. */
  async send(address: string, options: OutboundRequest = {}): Promise<OutboundAnswer> {
    const dispatcher = this.#route(new URL(address));
    const timeout = AbortSignal.timeout(this.#timeout);
    const signal = options.signal ? AbortSignal.any([timeout, options.signal]) : timeout;
    try {
      const { statusCode, headers, body } = await request(address, {
        dispatcher,
        method: options.method ?? "GET",
        headers: { "user-agent": "windlass", ...options.headers },
        body: options.body ?? null,
        signal,
      });
      // A body that is too slow or too long ends the connection, and says nothing.
      const text = options.statusOnly
        ? await body.dump({ limit: dumpLimit, signal }).then(empty, empty)
        : await read(body as AsyncIterable<Buffer>);
      const known = Object.entries(headers).map(([name, value]) => [name, String(value)]);
      return { status: statusCode, headers: new Headers(known as [string, string][]), text };
    } catch (error) {
      if (error instanceof DestinationError) throw error;
      const { host } = new URL(address);
      const why = timeout.aborted ? "it took too long" : (error as Error).message;
      throw new OutboundError(`${host} did not answer: ${why}`, { cause: error });
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#direct.destroy(), this.#proxied?.destroy()]);
  }
}

const empty = (): string => "";

async function read(body: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of body) {
    size += part.length;
    if (size > answerLimit) throw new Error("the response is too long");
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}
