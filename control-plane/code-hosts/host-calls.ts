/** Calls of a code host's JSON API: checked answers, and errors that say what to do. */
import { createHmac } from "node:crypto";
import { equalSecrets } from "../../common/equal-secrets.ts";
import { retryAfter } from "../../common/retry-after.ts";
import type { IncomingHttpHeaders } from "node:http";
import type { Static, TSchema } from "typebox";
import { Value } from "typebox/value";
import type { Outbound, OutboundAnswer, OutboundRequest } from "../outbound/outbound.ts";

/** A call failed; the message names the host and the reason. */
export class HostError extends Error {
  override readonly name = "HostError";
  /** 0: no response came, or it made no sense. */
  readonly status: number;
  /** When the host asked for no more calls: how many milliseconds from now. */
  readonly retryAfter: number | undefined;

  constructor(message: string, status = 0, retryAfter?: number) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

type Method = NonNullable<OutboundRequest["method"]>;

export interface Asking {
  readonly method?: Method;
  readonly body?: object;
  /** Statuses that are no failure, beside those of success. */
  readonly also?: readonly number[];
}

export class HostCalls {
  readonly #outbound: Outbound;
  readonly #api: string;
  readonly #headers: () => Promise<Record<string, string>>;

  /** `headers`: the credential, and what the host wants in every request. */
  constructor(outbound: Outbound, api: string, headers: () => Promise<Record<string, string>>) {
    this.#outbound = outbound;
    this.#api = api;
    this.#headers = headers;
  }

  /** The whole address of a path. */
  address(path: string): string {
    return this.#api + path;
  }

  async get<T extends TSchema>(path: string, schema: T): Promise<Static<T>> {
    return parsed(await this.ask(path), schema);
  }

  /** Null for a status among `absent`. */
  async find<T extends TSchema>(
    path: string,
    schema: T,
    { absent = [404], ...asking }: Omit<Asking, "also"> & { absent?: readonly number[] } = {},
  ): Promise<Static<T> | null> {
    const answer = await this.ask(path, { ...asking, also: absent });
    return absent.includes(answer.status) ? null : parsed(answer, schema);
  }

  /** The path below the API that the host sends a request to. Throws if that is elsewhere. */
  async redirected(path: string): Promise<string> {
    const { status, headers } = await this.ask(path, { also: [301, 302, 307, 308] });
    const location = headers.get("location") ?? "";
    if (status >= 300 && location.startsWith(`${this.#api}/`))
      return location.slice(this.#api.length);
    throw new HostError(`the host redirects ${path} elsewhere`, status);
  }

  async send<T extends TSchema>(
    method: Method,
    path: string,
    body: object,
    schema: T,
  ): Promise<Static<T>> {
    return parsed(await this.ask(path, { method, body }), schema);
  }

  /** Throws HostError for every status that is neither success nor among `also`. */
  async ask(
    path: string,
    { method = "GET", body, also = [] }: Asking = {},
  ): Promise<OutboundAnswer> {
    const headers = { accept: "application/json", ...(await this.#headers()) };
    const content =
      body === undefined
        ? { headers }
        : {
            headers: { ...headers, "content-type": "application/json" },
            body: JSON.stringify(body),
          };
    const answer = await this.#outbound
      .send(this.address(path), { method, ...content })
      .catch((error: Error) => {
        throw new HostError(error.message);
      });
    const { status } = answer;
    if ((status >= 200 && status < 300) || also.includes(status)) return answer;
    throw refusalOf(answer, `${method} ${path.split("?")[0]}`);
  }
}

function refusalOf({ status, headers, text }: OutboundAnswer, what: string): HostError {
  const wait = waitIn(status, headers);
  if (wait !== undefined) return new HostError("the host's rate limit is reached", status, wait);
  if (status === 401)
    return new HostError(
      "the host rejects the credential: it is wrong, revoked or expired",
      status,
    );
  if (status >= 300 && status < 400)
    return new HostError(`the host redirects ${what}: set the address it redirects to`, status);
  const said = messageIn(text);
  return new HostError(`the host answers ${status} to ${what}${said ? `: ${said}` : ""}`, status);
}

/** The longest wait that a host is given. */
const longestWait = 3_600_000;

/** How long the host wants no calls: `Retry-After`, or GitHub's limit that resets at a time. */
function waitIn(status: number, headers: Headers): number | undefined {
  if (status !== 429 && status !== 403 && status !== 503) return undefined;
  const after = retryAfter(headers.get("retry-after"), longestWait);
  if (after !== undefined) return after;
  if (headers.get("x-ratelimit-remaining") === "0") {
    const until = Number(headers.get("x-ratelimit-reset")) * 1000 - Date.now();
    return Math.min(Math.max(until || 60_000, 1000), longestWait);
  }
  return status === 429 ? 60_000 : undefined;
}

/** The host's own words, if its answer is JSON with a message. */
function messageIn(text: string): string | undefined {
  try {
    const { message, error } = JSON.parse(text) as Record<string, unknown>;
    // Bitbucket's is one level deeper.
    const inner = (error as { message?: unknown } | undefined)?.message;
    const said = [message, error, inner].find((one) => typeof one === "string");
    return typeof said === "string" ? said.slice(0, 200) : undefined;
  } catch {
    return undefined;
  }
}

export function parsed<T extends TSchema>({ text, status }: OutboundAnswer, schema: T): Static<T> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new HostError("the host's answer is not JSON: is this the address of its API?", status);
  }
  if (!Value.Check(schema, value))
    throw new HostError("the host's answer does not match its API", status);
  return value;
}

/** Whether HMAC-SHA256 of the body under one of the secrets is that signature, in hex. */
export function isSignedBy(
  signature: string | undefined,
  body: Buffer,
  secrets: readonly string[],
): boolean {
  if (signature === undefined || !/^[0-9a-f]{64}$/.test(signature)) return false;
  return secrets.some((secret) =>
    equalSecrets(signature, createHmac("sha256", secret).update(body).digest("hex")),
  );
}

export const headerOf = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name];
  return Array.isArray(value) ? undefined : value;
};

/** A name in a path: each part is encoded, the slashes stay. */
export const pathOf = (name: string): string => name.split("/").map(encodeURIComponent).join("/");
