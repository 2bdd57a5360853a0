/** An endpoint as one object, which the server serves, the client calls and OpenAPI lists. */
import { Type, type Static, type TObject, type TProperties, type TSchema } from "typebox";
import type { ProblemCode } from "./problem.ts";
import type { Permission } from "./roles.ts";

/** `registrant`: registration token, client or worker. `job`: basic auth with job id and token. */
export type Caller = "anyone" | "session" | "client" | "worker" | "registrant" | "job" | "pipeline";

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "LOCK" | "UNLOCK";

/** Fields that an endpoint takes from its declaration unchanged. */
interface Common {
  readonly summary: string;
  /** More than the summary, for the OpenAPI document; Markdown. */
  readonly description?: string;
  /** What a person or an access token needs; every endpoint that they may call has one. */
  readonly permission?: Permission;
  /**
   * Whether a role in a zone is enough: that in the zone of what address or body name, and in any zone
   * for a list, which then has what is in those zones. Else the role in the whole space counts.
   */
  readonly inZones?: boolean;
  /** The media type of `bytes`; default `application/octet-stream`. */
  readonly media?: string;
  /** The data of each Server-Sent Event. */
  readonly events?: Readonly<Record<string, TSchema>>;
  /** Statuses without a problem document. 206: supports `Range` and `If-None-Match`. */
  readonly also?: Readonly<Record<number, string>>;
  /** Problem codes beyond those implied by the other fields (control-plane/openapi/refusals.ts). */
  readonly refusals?: readonly ProblemCode[];
  /**
   * Fields of the body that name an owner by id, and its kind, as in paths. The first that is there
   * decides in which space the request acts.
   */
  readonly belongsTo?: Readonly<Record<string, string>>;
  /** Limit of the body in bytes, checked before it is buffered. Default 1 MiB. */
  readonly bodyLimit?: number;
  /** Limit of the members and entries of a JSON body. Default 20,000. */
  readonly bodyValues?: number;
}

interface Declaration extends Common {
  /** Default: `client`. */
  readonly caller?: Caller;
  /** The `{name}` parts of the path. */
  readonly params?: TProperties;
  readonly query?: TProperties;
  readonly headers?: TProperties;
  /** JSON. Without it, no body is read. */
  readonly body?: TSchema;
  /** The request or response body is a stream of bytes; the service checks it. */
  readonly bytes?: "request" | "response";
  /** The body of the response, in JSON. */
  readonly answer?: TSchema;
  /** On success. Default: 200; without `answer` and `bytes` 204, which has no content. */
  readonly status?: Endpoint["status"];
}

export interface Endpoint extends Common {
  readonly method: Method;
  readonly path: string;
  readonly caller: Caller;
  readonly params: TObject | undefined;
  readonly query: TObject | undefined;
  readonly headers: TObject | undefined;
  readonly body: TSchema | undefined;
  readonly bytes: "request" | "response" | undefined;
  readonly answer: TSchema | undefined;
  readonly status: 200 | 201 | 202 | 204 | 303;
}

type ValueOr<V, T, Otherwise = undefined> = V extends T ? V : Otherwise;
type ObjectOf<P> = P extends TProperties ? TObject<P> : undefined;

/** The endpoint of a declaration, with its types, on which server and client agree. */
interface EndpointOf<D extends Declaration> extends Endpoint {
  readonly caller: ValueOr<D["caller"], Caller, "client">;
  readonly params: ObjectOf<D["params"]>;
  readonly query: ObjectOf<D["query"]>;
  readonly headers: ObjectOf<D["headers"]>;
  readonly body: ValueOr<D["body"], TSchema>;
  readonly bytes: ValueOr<D["bytes"], "request" | "response">;
  readonly answer: ValueOr<D["answer"], TSchema>;
}

/** Declares an endpoint by its method and path, such as `GET /api/cli/zones/{id}`. */
export function endpoint<const D extends Declaration>(
  route: `${Method} /${string}`,
  declaration: D,
): EndpointOf<D> {
  const { caller, params, query, headers, body, bytes, answer, status, ...common }: Declaration =
    declaration;
  const [method, path] = route.split(" ");
  const isEmpty = answer === undefined && bytes === undefined;
  return {
    ...common,
    method,
    path,
    caller: caller ?? "client",
    params: params && Type.Object(params),
    query: query && Type.Object(query),
    headers: headers && Type.Object(headers),
    body,
    bytes,
    answer,
    status: status ?? (isEmpty ? 204 : 200),
  } as EndpointOf<D>;
}

/** Whether a request acts in a space, which the header `Windlass-Team` may choose. */
export const actsInSpace = ({ caller, permission }: Endpoint): boolean =>
  permission !== undefined && caller !== "session";

type Part<
  E extends Endpoint,
  K extends "params" | "query" | "headers" | "body" | "answer",
> = E[K] extends TSchema ? Static<E[K]> : undefined;

export type Params<E extends Endpoint> = Part<E, "params">;
export type Query<E extends Endpoint> = Part<E, "query">;
export type Headers<E extends Endpoint> = Part<E, "headers">;
export type Body<E extends Endpoint> = Part<E, "body">;
export type Answer<E extends Endpoint> = Part<E, "answer">;
