/** The typed client side of the wire, which the control plane does not import. */
import { withoutEndSlashes } from "../common/addresses.ts";
import { request, type Dispatcher } from "../common/http-client.ts";
import { retryAfter } from "../common/retry-after.ts";
import { mebibyte, second } from "../common/units.ts";
import { calledEndpoints } from "./called-endpoints.ts";
import type { Answer, Body, Endpoint, Params, Query } from "./endpoint.ts";
import type { EndpointName, Endpoints } from "./endpoints.ts";
import type { Problem } from "./problem.ts";

/** An error response: its `status` and, if it was a problem document, its `code`. */
export class ProblemError extends Error {
  override readonly name = "ProblemError";
  readonly status: number;
  readonly problem: Partial<Problem>;
  /** From `Retry-After`, in seconds. */
  readonly retryAfter: number | undefined;
  /** Whether the response was declared to be a problem document. */
  readonly isDocument: boolean;

  constructor(
    status: number,
    problem: Partial<Problem>,
    retryAfter?: number,
    isDocument: boolean = false,
  ) {
    super(problem.detail ?? problem.title ?? `The server responded with status ${status}`);
    this.status = status;
    this.problem = problem;
    this.retryAfter = retryAfter;
    this.isDocument = isDocument;
  }

  get code(): string | undefined {
    return this.problem.code;
  }
}

/** As a proxy from http to https. Not followed: it would take credentials to another server. */
export class RedirectError extends Error {
  override readonly name = "RedirectError";
  /** The address to use in place of the server's; undefined if it redirects to some other page. */
  readonly server: string | undefined;

  constructor(from: string, path: string, location: string) {
    const to = URL.parse(location, `${from}${path}`)?.href ?? location;
    const server = to.endsWith(path) ? to.slice(0, -path.length) : undefined;
    super(`${from} redirects to ${server ?? to}`);
    this.server = server;
  }
}

/** A response that the control plane cannot have made. */
export class ResponseTooLargeError extends Error {
  override readonly name = "ResponseTooLargeError";
}

const redirects = new Set([301, 302, 303, 307, 308]);

/** Throws `RedirectError` if the response to the request for `path` is a redirect. */
export async function refuseRedirect(
  from: string,
  path: string,
  { statusCode, headers, body }: Dispatcher.ResponseData,
): Promise<void> {
  if (!redirects.has(statusCode) || typeof headers.location !== "string") return;
  await body.dump();
  throw new RedirectError(from, path, headers.location);
}

export interface CallOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** How long the response headers may take, in milliseconds. */
  readonly timeout?: number;
  /** How long the response body may be silent, in milliseconds. Default: 5 minutes (undici). */
  readonly silence?: number;
  readonly dispatcher?: Dispatcher;
  /** How many bytes a JSON response may have. Default: 64 MiB, eight times the largest body. */
  readonly limit?: number;
  /** Called with the headers of the response, whatever its status. */
  readonly onHeaders?: (headers: Dispatcher.ResponseData["headers"]) => void;
}

type InputOf<E extends Endpoint> = (Params<E> extends undefined
  ? { params?: undefined }
  : { params: { [K in keyof Params<E>]: string } }) & {
  query?: Partial<Query<E>> | undefined;
} & (Body<E> extends undefined ? { body?: undefined } : { body: Body<E> });

/** What is sent to an endpoint. */
export type Input<N extends EndpointName> = InputOf<Endpoints[N]>;

/** The parsed body; null if the endpoint has none. */
export type Called<N extends EndpointName> =
  Answer<Endpoints[N]> extends undefined ? null : Answer<Endpoints[N]>;

/**
 * Returns the parsed body, or null for 204. Throws `ProblemError` from 400 on, `RedirectError`,
 * `ResponseTooLargeError`, and undici's errors if the server cannot be reached.
 */
export async function call<N extends EndpointName>(
  server: string,
  name: N,
  input: Input<N>,
  options: CallOptions = {},
): Promise<Called<N> | null> {
  const response = await send(server, name, input as SendInput, options);
  if (response.statusCode === 204) {
    await response.body.dump();
    return null;
  }
  const { limit = usualLimit } = options;
  const text = await textWithin(response.body, limit);
  if (text === undefined)
    throw new ResponseTooLargeError(`${server} has sent more than ${limit} bytes`);
  return (text === "" ? null : JSON.parse(text)) as Called<N>;
}

const usualLimit = 64 * mebibyte;

/** Returns undefined if there are more bytes; the rest is not read, and the connection is closed. */
export async function textWithin(
  body: Dispatcher.ResponseData["body"],
  limit: number,
): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body) {
    parts.push(part as Buffer);
    bytes += (part as Buffer).length;
    if (bytes > limit) return undefined;
  }
  return Buffer.concat(parts).toString();
}

export interface SendInput {
  readonly params?: Readonly<Record<string, string>> | undefined;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly bytes?: Buffer | NodeJS.ReadableStream;
}

/** Sends a request with a binary body or response; the caller reads or dumps `body`. */
export async function send(
  server: string,
  name: EndpointName,
  input: SendInput,
  options: CallOptions = {},
): Promise<Dispatcher.ResponseData> {
  const from = withoutEndSlashes(server);
  const endpoint = calledEndpoints[name];
  const path = pathOf(endpoint.path, input.params ?? {}, input.query ?? {});
  const response = await request(`${from}${path}`, {
    method: endpoint.method as Dispatcher.HttpMethod,
    headers: {
      ...(input.body === undefined ? {} : { "content-type": "application/json" }),
      ...(input.bytes === undefined ? {} : { "content-type": "application/octet-stream" }),
      ...options.headers,
    },
    body: (input.bytes ?? (input.body === undefined ? null : JSON.stringify(input.body))) as never,
    ...(options.signal ? { signal: options.signal } : {}),
    ...(options.timeout === undefined ? {} : { headersTimeout: options.timeout }),
    ...(options.silence === undefined ? {} : { bodyTimeout: options.silence }),
    ...(options.dispatcher ? { dispatcher: options.dispatcher } : {}),
  });
  await refuseRedirect(from, path, response);
  options.onHeaders?.(response.headers);
  if (response.statusCode >= 400) throw await problemOf(response);
  return response;
}

function pathOf(
  path: string,
  params: Readonly<Record<string, string>>,
  query: Readonly<Record<string, string | number | boolean | undefined>>,
): string {
  const values = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) values.set(name, String(value));
  }
  const search = values.toString();
  return `${fillPath(path, params)}${search === "" ? "" : `?${search}`}`;
}

/** Returns the path with its parameters filled in and escaped. */
function fillPath(path: string, params: Readonly<Record<string, string>>): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name];
    if (value === undefined) throw new TypeError(`${path} needs the parameter ${name}`);
    return encodeURIComponent(value);
  });
}

/** A problem document lists up to some hundred faults. */
const problemLimit = mebibyte;

async function problemOf(response: Dispatcher.ResponseData): Promise<ProblemError> {
  const text = (await textWithin(response.body, problemLimit).catch(() => "")) ?? "";
  const wait = retryAfter(response.headers["retry-after"]);
  return new ProblemError(
    response.statusCode,
    parseProblem(text) ?? { status: response.statusCode },
    wait === undefined ? undefined : wait / second,
    String(response.headers["content-type"]).startsWith("application/problem+json"),
  );
}

/** Returns undefined if the body is not JSON, such as the HTML page of a proxy. */
function parseProblem(text: string): Partial<Problem> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
