/**
 * What an endpoint is: one object that the server serves, the client calls and the OpenAPI document lists.
 */
import type { Static, TObject, TSchema } from "typebox";
import type { ProblemCode } from "./problem.ts";

/** Who may call. `registrant`: a registration token, a client or a worker; `job`: basic auth with job id and job token. */
export type Caller = "anyone" | "session" | "client" | "worker" | "registrant" | "job" | "pipeline";

/** The path's `{name}` parts are described by `params`; a missing `answer` is 204 without content. */
export interface Endpoint {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "LOCK" | "UNLOCK";
  readonly path: string;
  readonly summary: string;
  /** What the summary leaves open, for the reader of the OpenAPI document; Markdown. */
  readonly description?: string;
  readonly caller: Caller;
  readonly params?: TObject;
  readonly query?: TObject;
  readonly headers?: TObject;
  /** Absent: no body is read, whatever is sent. */
  readonly body?: TSchema;
  /** `bytes`: the body is a stream, checked by its service and never parsed. */
  readonly bytes?: "request" | "response";
  /** The success status and the schema of its body. */
  readonly status: 200 | 201 | 204 | 303;
  readonly answer?: TSchema;
  /** The media type of `bytes`; default `application/octet-stream`. */
  readonly media?: string;
  /** Of Server-Sent Events: the data of each event. */
  readonly events?: Readonly<Record<string, TSchema>>;
  /** Other statuses that are not a problem document, and what they say. With 206 the answer obeys `Range` and `If-None-Match`. */
  readonly also?: Readonly<Record<number, string>>;
  /** What it may refuse beyond what its caller, its input and its kind of body bring (control-plane/openapi/refusals.ts). */
  readonly refusals?: readonly ProblemCode[];
  /** In bytes; a body over it is refused before it is buffered. Default 1 MiB. */
  readonly bodyLimit?: number;
  /** How many members and entries a body of JSON may hold. Default 20,000. */
  readonly bodyValues?: number;
}

/** Keeps the exact types of an endpoint, so that server and client agree at compile time. */
export const endpoint = <const E extends Endpoint>(definition: E): E => definition;

type Part<
  E extends Endpoint,
  K extends "params" | "query" | "headers" | "body" | "answer",
> = E[K] extends TSchema ? Static<E[K]> : undefined;

export type Params<E extends Endpoint> = Part<E, "params">;
export type Query<E extends Endpoint> = Part<E, "query">;
export type Headers<E extends Endpoint> = Part<E, "headers">;
export type Body<E extends Endpoint> = Part<E, "body">;
export type Answer<E extends Endpoint> = Part<E, "answer">;

/** The path with its parameters filled in and escaped. */
export function fillPath(path: string, params: Readonly<Record<string, string>>): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name];
    if (value === undefined) throw new TypeError(`${path} needs the parameter ${name}`);
    return encodeURIComponent(value);
  });
}
