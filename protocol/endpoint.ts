/**
 * The definition of an endpoint: one object that the server serves, the client calls and the
 * OpenAPI document lists.
 */
import type { Static, TObject, TSchema } from "typebox";
import type { ProblemCode } from "./problem.ts";
import type { Permission } from "./roles.ts";

/**
 * Who may call. `registrant`: a registration token, a client or a worker. `job`: basic
 * authentication with job id and job token.
 */
export type Caller = "anyone" | "session" | "client" | "worker" | "registrant" | "job" | "pipeline";

/**
 * `params` describes the `{name}` parts of the path. Without `answer` there is no content (204).
 */
export interface Endpoint {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "LOCK" | "UNLOCK";
  readonly path: string;
  readonly summary: string;
  /** More than the summary, for the OpenAPI document; Markdown. */
  readonly description?: string;
  readonly caller: Caller;
  /** What a person or an access token needs; every endpoint that they may call has one. */
  readonly permission?: Permission;
  readonly params?: TObject;
  readonly query?: TObject;
  readonly headers?: TObject;
  /** Without it, no body is read. */
  readonly body?: TSchema;
  /** The request or response body is a stream of bytes; the service checks it. */
  readonly bytes?: "request" | "response";
  /** The success status and the schema of its body. */
  readonly status: 200 | 201 | 204 | 303;
  readonly answer?: TSchema;
  /** The media type of `bytes`; default `application/octet-stream`. */
  readonly media?: string;
  /** The data of each Server-Sent Event. */
  readonly events?: Readonly<Record<string, TSchema>>;
  /**
   * Other statuses without a problem document, and their meaning. With 206 the endpoint supports
   * `Range` and `If-None-Match`.
   */
  readonly also?: Readonly<Record<number, string>>;
  /** Problem codes beyond those implied by the other fields (control-plane/openapi/refusals.ts). */
  readonly refusals?: readonly ProblemCode[];
  /**
   * Fields of the body that name by id what the new thing belongs to, and what they name, as in
   * paths. The first one that is there decides in which space the request acts.
   */
  readonly below?: Readonly<Record<string, string>>;
  /** Limit of the body in bytes, checked before it is buffered. Default 1 MiB. */
  readonly bodyLimit?: number;
  /** Limit of the members and entries of a JSON body. Default 20,000. */
  readonly bodyValues?: number;
}

/** Whether a request acts in a space, which the header `Windlass-Team` may choose. */
export const actsInSpace = ({ caller, permission }: Endpoint): boolean =>
  permission !== undefined && caller !== "session";

/** Preserves the literal types of an endpoint, so that server and client agree at compile time. */
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

/** Returns the path with its parameters filled in and escaped. */
export function fillPath(path: string, params: Readonly<Record<string, string>>): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name];
    if (value === undefined) throw new TypeError(`${path} needs the parameter ${name}`);
    return encodeURIComponent(value);
  });
}
