/** Serves an endpoint of the protocol: who may call, what is checked, and one handler with everything typed. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Answer, Body, Endpoint, Headers, Params, Query } from "../../protocol/endpoint.ts";

/** Judges a request's credential before anything else of it is read; throws the 401 or 403. */
export type Guard<C> = (request: FastifyRequest, reply: FastifyReply) => Promise<C>;

/** Everything a handler gets. `C` is what the guard found out about the caller. */
export interface Call<E extends Endpoint, C> {
  readonly caller: C;
  readonly params: Params<E>;
  readonly query: Query<E>;
  readonly headers: Headers<E>;
  readonly body: Body<E>;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** What a handler answers that has sent the reply itself. (Not the reply: awaiting it would wait until it is on the wire.) */
export const sent = Symbol("sent");

/** A handler answers the endpoint's body, or sends the reply itself. */
export type Handler<E extends Endpoint, C> = (call: Call<E, C>) => Promise<Answer<E> | typeof sent>;

export interface RouteOptions {
  /** Called so often that a log line each would cost more than the work: polls, heartbeats, log posts. */
  readonly quiet?: boolean;
}

/** Adds one endpoint to the application. */
export function route<E extends Endpoint, C>(
  app: FastifyInstance,
  endpoint: E,
  guard: Guard<C>,
  handler: Handler<E, C>,
  options: RouteOptions = {},
): void {
  const { params, query, headers, body, answer, status, bodyLimit } = endpoint;
  app.route({
    method: endpoint.method,
    url: endpoint.path.replace(/\{(\w+)\}/g, ":$1"),
    ...(bodyLimit === undefined ? {} : { bodyLimit }),
    schema: {
      summary: endpoint.summary,
      // OpenAPI has no word for terraform's LOCK and UNLOCK.
      hide: endpoint.method === "LOCK" || endpoint.method === "UNLOCK",
      ...(params ? { params } : {}),
      ...(query ? { querystring: query } : {}),
      ...(headers ? { headers } : {}),
      ...(body ? { body } : {}),
      ...(answer ? { response: { [status]: answer } } : {}),
    },
    config: { endpoint, quiet: options.quiet ?? false },
    onRequest: async (request, reply) => {
      request.caller = await guard(request, reply);
    },
    handler: (request, reply) => {
      handler({
        caller: request.caller as C,
        params: request.params as Params<E>,
        query: request.query as Query<E>,
        headers: request.headers as Headers<E>,
        body: request.body as Body<E>,
        request,
        reply,
      }).then(
        (result) => {
          if (result !== sent) reply.code(status).send(result);
        },
        (error: unknown) => reply.send(error),
      );
    },
  });
}

/** Registers routes whose request body is a stream that their service reads and bounds: nothing is buffered or parsed. */
export function bytesRoutes(app: FastifyInstance, add: (app: FastifyInstance) => void): void {
  app.register(async (child) => {
    child.removeAllContentTypeParsers();
    child.addContentTypeParser("*", (_request, payload, done) => done(null, payload));
    add(child);
  });
}

/** Registers routes that take no body: whatever is sent is read past, so that a client's empty JSON is no error. */
export function bodilessRoutes(app: FastifyInstance, add: (app: FastifyInstance) => void): void {
  app.register(async (child) => {
    child.removeAllContentTypeParsers();
    child.addContentTypeParser("*", (_request, payload, done) => {
      payload.resume();
      done(null, undefined);
    });
    add(child);
  });
}

declare module "fastify" {
  interface FastifyRequest {
    caller: unknown;
  }
  interface FastifyContextConfig {
    endpoint?: Endpoint;
    quiet?: boolean;
    /** Answers also while the server stops: it says how that goes. */
    alsoWhileStopping?: boolean;
  }
}
