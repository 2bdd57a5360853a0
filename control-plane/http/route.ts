/** Serves the endpoints of the protocol: who may call, what is checked, and a typed handler each. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { TSchema } from "typebox";
import type {
  Answer,
  Body,
  Caller,
  Endpoint,
  Headers,
  Params,
  Query,
} from "../../protocol/endpoint.ts";
import type { JobCaller, PipelineCaller, UserCaller, WorkerCaller } from "../services/callers.ts";
import { endpoints, type Endpoints } from "../../protocol/endpoints.ts";
import { onBehalfOf } from "../services/on-behalf-of.ts";
import { normalizerFor, type Normalize } from "../domain/normalize.ts";
import { checkPermission, isUniform } from "../domain/roles.ts";
import { kibibyte, mebibyte } from "../../common/units.ts";
import type { Registrant } from "../services/workers/workers.ts";
import { bytesOf } from "./bytes.ts";
import type { SendList } from "./list.ts";
import { urlOf } from "./route-of.ts";
import { sent } from "./sent.ts";

/** Throws 401 or 403 before anything else is read. Returns no promise if it need not wait. */
export type Guard<C> = (request: FastifyRequest, reply: FastifyReply) => C | Promise<C>;

/** What the guard of each kind of caller returns. */
interface Callers extends Record<Caller, unknown> {
  readonly anyone: null;
  readonly session: UserCaller;
  readonly client: UserCaller;
  readonly worker: WorkerCaller;
  readonly registrant: Registrant;
  readonly job: JobCaller;
  readonly pipeline: PipelineCaller;
}

export type Guards = { readonly [K in Caller]: Guard<Callers[K]> } & {
  /** For endpoints whose body decides in which space they act. */
  readonly forBody: (caller: UserCaller, endpoint: Endpoint, body: unknown) => Promise<UserCaller>;
};

export interface Call<E extends Endpoint> {
  readonly caller: Callers[E["caller"]];
  readonly params: Params<E>;
  readonly query: Query<E>;
  readonly headers: Headers<E>;
  /** Bytes are passed on as they arrive; the service bounds and checks them. */
  readonly body: E["bytes"] extends "request" ? AsyncIterable<Uint8Array> : Body<E>;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/**
 * A handler returns the response body, or a list to send as one, or sends the reply itself. What it
 * returns for an endpoint without a response body is not sent.
 */
type Result<E extends Endpoint> = E["answer"] extends TSchema
  ? Answer<E> | SendList | typeof sent
  : E["bytes"] extends "response"
    ? typeof sent
    : unknown;

type Handler<E extends Endpoint> = (call: Call<E>) => Promise<Result<E>>;

export interface RouteOptions {
  /** Not logged: a line for each poll, heartbeat and log post would cost more than the work. */
  readonly quiet?: boolean;
  /** Served also while the server stops, because it reports that. */
  readonly alsoWhileStopping?: boolean;
  /** Keeps the plain values of a body that has too many, instead of refusing it. */
  readonly dropsExcess?: boolean;
  /** Makes a body fit its schema as far as possible, so that it is not lost because of a detail. */
  readonly repair?: (body: unknown) => unknown;
}

/** The largest body that an unknown caller may declare, in bytes: it is read before anything is known. */
const unknownLimit = 8 * kibibyte;

/** Kinds of callers that may be a person or an access token. */
const forUsers: ReadonlySet<Caller> = new Set(["session", "client", "registrant"]);

/** Served by the console, because they answer with pages. */
type ServedElsewhere = "startSignIn" | "finishSignIn";

/** A handler for each endpoint; with options if the endpoint needs some. */
export type Routes = {
  readonly [N in Exclude<keyof Endpoints, ServedElsewhere>]:
    | Handler<Endpoints[N]>
    | (RouteOptions & { readonly handle: Handler<Endpoints[N]> });
};

/** Serves all endpoints of the protocol, each behind the guard of the caller that it declares. */
export function serve(app: FastifyInstance, guards: Guards, routes: Routes): void {
  const add = (to: FastifyInstance, kind: BodyKind): void => {
    for (const [name, given] of Object.entries(routes)) {
      const endpoint: Endpoint = endpoints[name as keyof Routes];
      if (bodyKind(endpoint) !== kind) continue;
      const { handle, ...options } = typeof given === "function" ? { handle: given } : given;
      route(to, endpoint, guards, handle as Handler<Endpoint>, options);
    }
  };
  add(app, "json");
  for (const kind of ["bytes", "ignored"] as const)
    app.register(async (child) => {
      child.removeAllContentTypeParsers();
      child.addContentTypeParser("*", (_request, payload, done) => {
        if (kind === "ignored") payload.resume();
        done(null, undefined);
      });
      add(child, kind);
    });
}

/** `bytes`: read by the handler. `ignored`: an empty JSON body of a client is no error. */
type BodyKind = "json" | "bytes" | "ignored";

const bodyKind = ({ method, body, bytes }: Endpoint): BodyKind => {
  if (bytes === "request") return "bytes";
  return body || method === "GET" ? "json" : "ignored";
};

function route(
  app: FastifyInstance,
  endpoint: Endpoint,
  guards: Guards,
  handle: Handler<Endpoint>,
  options: RouteOptions,
): void {
  const { params, query, headers, body, bytes, answer, status, bodyLimit } = endpoint;
  const declared = declaredFields(body);
  const [inParams, inQuery, inBody] = [params, query, body].map(normalizerFor) as [
    Normalize,
    Normalize,
    Normalize,
  ];
  const bodyOf =
    bytes === "request"
      ? (request: FastifyRequest) => bytesOf(request, bodyLimit ?? mebibyte)
      : (request: FastifyRequest) => inBody(declared(request.body));
  const list = nameOfList(answer);
  const respond: Handler<Endpoint> =
    list === undefined
      ? handle
      : async (call) => {
          const found = await handle(call);
          return typeof found === "function"
            ? (found as SendList)(call.reply, list, call.query ?? {})
            : found;
        };
  const guard = guards[endpoint.caller];
  const { permission } = endpoint;
  if (endpoint.caller === "anyone" && body !== undefined && !(Number(bodyLimit) <= unknownLimit))
    throw new TypeError(`${endpoint.path} declares no small limit of its body`);
  if (permission === undefined && forUsers.has(endpoint.caller))
    throw new TypeError(`${endpoint.path} declares no permission`);
  const admit = (request: FastifyRequest, caller: Callers[Caller]): void => {
    const user = userOf(caller);
    // A caller with several spaces may act in another one, or in a zone, once the body is there.
    const isDeferred =
      endpoint.belongsTo !== undefined &&
      user !== undefined &&
      (user.spaces.length > 1 || !user.spaces.every(isUniform));
    if (user && permission !== undefined && !isDeferred) checkPermission(user, permission);
    request.caller = caller;
  };
  app.route({
    method: endpoint.method,
    url: urlOf(endpoint.path),
    ...(bodyLimit === undefined ? {} : { bodyLimit }),
    // No response schema: views name every field, and JSON.stringify is the fastest writer.
    schema: {
      ...(params ? { params } : {}),
      ...(query ? { querystring: query } : {}),
      ...(headers ? { headers } : {}),
      ...(body ? { body } : {}),
    },
    config: { endpoint, ...options },
    ...(options.repair
      ? {
          preValidation: (request, _, done) => {
            request.body = options.repair?.(request.body);
            done();
          },
        }
      : {}),
    // A hook that throws or returns a promise: both are Fastify's `done`.
    onRequest: (request, reply, done) => {
      // Before the guard, because a job's token is for one configuration.
      request.params = inParams(request.params);
      const caller = guard(request, reply);
      if (caller instanceof Promise) return caller.then((found) => admit(request, found));
      admit(request, caller);
      return done();
    },
    ...(endpoint.belongsTo
      ? {
          preHandler: async (request) => {
            const user = request.caller as UserCaller;
            request.caller = await guards.forBody(user, endpoint, request.body);
          },
        }
      : {}),
    handler: (request, reply) => {
      const caller = request.caller as Callers[Caller];
      const call = () =>
        respond({
          caller,
          params: request.params as Params<Endpoint>,
          query: inQuery(request.query) as Query<Endpoint>,
          headers: request.headers as unknown as Headers<Endpoint>,
          body: bodyOf(request) as Body<Endpoint>,
          request,
          reply,
        });
      const user = userOf(caller);
      (user ? onBehalfOf(user, call) : call()).then(
        (result) => {
          if (result !== sent) reply.code(status).send(answer && result);
        },
        (error: unknown) => reply.send(error),
      );
    },
  });
}

/** The field of a response with the items of a list; undefined for other responses. */
function nameOfList(answer: TSchema | undefined): string | undefined {
  const { properties = {} } = (answer ?? {}) as { properties?: object };
  return "next_cursor" in properties ? Object.keys(properties)[0] : undefined;
}

/** The person or access token that calls; undefined for other kinds of callers. */
function userOf(caller: Callers[Caller]): UserCaller | undefined {
  if (typeof caller !== "object" || caller === null) return undefined;
  if ("login_id" in caller) return caller;
  return "user" in caller ? (caller as { user: UserCaller }).user : undefined;
}

/** Drops the others: a newer runner may send fields that no schema here has checked. */
function declaredFields(schema: TSchema | undefined): (body: unknown) => unknown {
  const { properties, additionalProperties } = (schema ?? {}) as {
    properties?: object;
    additionalProperties?: unknown;
  };
  if (properties === undefined || additionalProperties === false) return (body) => body;
  const names = Object.keys(properties);
  return (body) => {
    if (typeof body !== "object" || body === null) return body;
    const given = body as Record<string, unknown>;
    const kept: Record<string, unknown> = {};
    for (const name of names) if (Object.hasOwn(given, name)) kept[name] = given[name];
    return kept;
  };
}

declare module "fastify" {
  interface FastifyRequest {
    caller: unknown;
  }
  interface FastifyContextConfig extends RouteOptions {
    endpoint?: Endpoint;
    /** Of a page: as `inZones` of an endpoint. */
    inZones?: boolean;
  }
}
