/**
 * The typed client side of the wire, for the agent, the CLI, the demo and the tests. The control plane does not import it.
 */
import { request, type Dispatcher } from "undici";
import {
  fillPath,
  type Answer,
  type Body,
  type Endpoint,
  type Params,
  type Query,
} from "./endpoint.ts";
import type { Problem } from "./problem.ts";

/** The server answered with an error: `status` and, where it was a problem document, its `code`. */
export class ProblemError extends Error {
  override readonly name = "ProblemError";
  readonly status: number;
  readonly problem: Partial<Problem>;
  /** From `Retry-After`, in seconds. */
  readonly retryAfter: number | undefined;

  constructor(status: number, problem: Partial<Problem>, retryAfter?: number) {
    super(problem.detail ?? problem.title ?? `the server answered ${status}`);
    this.status = status;
    this.problem = problem;
    this.retryAfter = retryAfter;
  }

  get code(): string | undefined {
    return this.problem.code;
  }
}

export interface CallOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** How long the answer's headers may take, in milliseconds. */
  readonly timeout?: number;
  /** How long the answer's body may be silent, in milliseconds; undici's default is five minutes. */
  readonly silence?: number;
  readonly dispatcher?: Dispatcher;
}

type Input<E extends Endpoint> = (Params<E> extends undefined
  ? { params?: undefined }
  : { params: { [K in keyof Params<E>]: string } }) & {
  query?: Partial<Query<E>> | undefined;
} & (Body<E> extends undefined ? { body?: undefined } : { body: Body<E> });

/** Answers: the parsed body, or null when the server had nothing to say (204). */
export type Called<E extends Endpoint> = (Answer<E> extends undefined ? null : Answer<E>) | null;

/**
 * Calls a JSON endpoint. Throws `ProblemError` for every answer of 400 and above, and undici's own errors when the server
 * cannot be reached.
 */
export async function call<E extends Endpoint>(
  server: string,
  endpoint: E,
  input: Input<E>,
  options: CallOptions = {},
): Promise<Called<E>> {
  const answer = await send(server, endpoint, input as SendInput, options);
  if (answer.statusCode === 204) {
    await answer.body.dump();
    return null;
  }
  const text = await answer.body.text();
  return (text === "" ? null : JSON.parse(text)) as Called<E>;
}

export interface SendInput {
  readonly params?: Readonly<Record<string, string>> | undefined;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly bytes?: Buffer | NodeJS.ReadableStream;
}

/** Sends a request whose body or answer is bytes; the caller reads or dumps `body`. Throws like `call`. */
export async function send(
  server: string,
  endpoint: Endpoint,
  input: SendInput,
  options: CallOptions = {},
): Promise<Dispatcher.ResponseData> {
  const answer = await request(
    urlOf(server, endpoint.path, input.params ?? {}, input.query ?? {}),
    {
      method: endpoint.method as Dispatcher.HttpMethod,
      headers: {
        ...(input.body === undefined ? {} : { "content-type": "application/json" }),
        ...(input.bytes === undefined ? {} : { "content-type": "application/octet-stream" }),
        ...options.headers,
      },
      body: (input.bytes ??
        (input.body === undefined ? null : JSON.stringify(input.body))) as never,
      ...(options.signal ? { signal: options.signal } : {}),
      ...(options.timeout === undefined ? {} : { headersTimeout: options.timeout }),
      ...(options.silence === undefined ? {} : { bodyTimeout: options.silence }),
      ...(options.dispatcher ? { dispatcher: options.dispatcher } : {}),
    },
  );
  if (answer.statusCode >= 400) throw await problemOf(answer);
  return answer;
}

function urlOf(
  server: string,
  path: string,
  params: Readonly<Record<string, string>>,
  query: Readonly<Record<string, string | number | boolean | undefined>>,
): string {
  const values = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) values.set(name, String(value));
  }
  const search = values.toString();
  return `${server.replace(/\/+$/, "")}${fillPath(path, params)}${search === "" ? "" : `?${search}`}`;
}

async function problemOf(answer: Dispatcher.ResponseData): Promise<ProblemError> {
  const text = await answer.body.text().catch(() => "");
  const retryAfter = Number(answer.headers["retry-after"]);
  return new ProblemError(
    answer.statusCode,
    parseProblem(text) ?? { status: answer.statusCode },
    Number.isFinite(retryAfter) && retryAfter >= 0 ? retryAfter : undefined,
  );
}

/** A proxy in between may answer HTML: then only the status is known. */
function parseProblem(text: string): Partial<Problem> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
