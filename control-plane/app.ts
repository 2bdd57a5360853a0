/** The application. Only this file imports all parts; tests call it without a port. */
import Fastify, {
  LogController,
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
} from "fastify";
import { isSecure } from "./http/cookies.ts";
import { refusalWithoutRoute } from "./http/allowed-methods.ts";
import { answerClientError, refuseHeads } from "./http/client-error.ts";
import { asksForPage, sendErrorPage } from "./console/error-page.ts";
import { consoleRoutes } from "./console/routes.ts";
import { readJsonBodies } from "./http/json-body.ts";
import { boundPendingConnections } from "./http/pending-connections.ts";
import { boundOpenAnswers } from "./http/open-responses.ts";
import { sendProblem } from "./http/problem.ts";
import { RefusalError } from "./domain/refusal.ts";
import { planRoutes } from "./routes/plans.ts";
import { auditRoutes } from "./routes/audit.ts";
import { peopleRoutes } from "./routes/people.ts";
import { identityRoutes } from "./routes/identities.ts";
import { connectionRoutes } from "./routes/connections.ts";
import { configurationRoutes } from "./routes/configurations.ts";
import { claimRoutes } from "./routes/claims.ts";
import { makeGuards } from "./http/guards.ts";
import { serve } from "./http/route.ts";
import { issuerRoutes } from "./routes/issuer.ts";
import { jobRoutes } from "./routes/jobs.ts";
import { logRoutes } from "./routes/logs.ts";
import { notificationRoutes } from "./routes/notifications.ts";
import { operationRoutes } from "./routes/operations.ts";
import { scheduleRoutes } from "./routes/schedules.ts";
import { releaseRoutes } from "./routes/releases.ts";
import { stateRoutes } from "./routes/states.ts";
import { teamRoutes } from "./routes/teams.ts";
import { workerRoutes } from "./routes/workers.ts";
import { variableSetRoutes } from "./routes/variable-sets.ts";
import { zoneRoutes } from "./routes/zones.ts";
import { Claims } from "./services/claims/claims.ts";
import type { Context } from "./services/context.ts";
import { cutUnreadBodies } from "./http/unread-body.ts";
import { requestId } from "./http/request-id.ts";
import { routeOf } from "./http/route-of.ts";
import { compileValidator } from "./domain/validation.ts";
import { hour } from "../common/units.ts";

export interface AppOptions {
  readonly version: string;
  readonly log: FastifyBaseLogger;
  readonly trustedProxies?: readonly string[];
  /** How long the headers of a request, and a JSON body, may take to arrive. Default 60. */
  readonly requestSeconds?: number;
}

export async function buildApp(
  context: Context,
  { version, ...options }: AppOptions,
): Promise<FastifyInstance> {
  const patience = (options.requestSeconds ?? 60) * 1000;
  const app = Fastify({
    loggerInstance: options.log,
    logController: new LogController({ disableRequestLogging: true }),
    // Log lines add their request_id: a logger for each request costs polls more than their work.
    childLoggerFactory: (logger) => logger,
    genReqId: (request) => requestId(request.headers["x-request-id"]),
    trustProxy: options.trustedProxies?.length ? [...options.trustedProxies] : false,
    clientErrorHandler: answerClientError,
    http: {
      headersTimeout: patience,
      connectionsCheckingInterval: patience / 2,
      // Our own handler refuses them, with a problem document.
      requireHostHeader: false,
    },
    // For a whole request, however slowly it arrives: 64 MiB of state then need a line of 150
    // kbit/s.
    requestTimeout: hour,
    keepAliveTimeout: 75_000,
    // Our own refusal has more details.
    return503OnClosing: false,
    routerOptions: { maxParamLength: 600 },
    // For an address that cannot be decoded, or is too long.
    frameworkErrors: (error, request, reply) =>
      asksForPage(request)
        ? void sendErrorPage(context, error, request, reply)
        : sendProblem(error, request, reply),
  });
  app.addHttpMethod("LOCK", { hasBody: true });
  app.addHttpMethod("UNLOCK", { hasBody: true });
  app.decorateRequest("caller", null);
  app.decorateRequest("route", null);
  app.decorateRequest("waiting", 0);
  app.decorate("patience", patience);
  boundPendingConnections(app);
  readJsonBodies(app);
  app.setValidatorCompiler(compileValidator);
  app.setErrorHandler((error, request, reply) =>
    request.is404 && asksForPage(request)
      ? sendErrorPage(context, error, request, reply)
      : sendProblem(error, request, reply),
  );
  cutUnreadBodies(app);
  boundOpenAnswers(app, context);
  const withoutRoute = refusalWithoutRoute(app);
  let isWarned = false;
  app.addHook("onRequest", (request, reply, done) => {
    reply.header("x-request-id", request.id);
    // All clients behind such a proxy share the rate limits of its address.
    if (!isWarned && request.headers["x-forwarded-for"] !== undefined && !isTrusted(request)) {
      isWarned = true;
      request.log.warn(
        { address: request.socket.remoteAddress },
        "ignoring X-Forwarded-For from an address that WINDLASS_TRUSTED_PROXIES does not name: all clients behind it count as one",
      );
    }
    // Later requests use https too, so no typed name or bookmark discloses a cookie or a token.
    if (isSecure(context)) reply.header("strict-transport-security", "max-age=31536000");
    // While draining, refuse new requests so that clients reconnect elsewhere.
    if (context.draining.aborted && !routeOf(request).config.alsoWhileStopping)
      done(new RefusalError("unavailable", "the server is stopping", {}, { "retry-after": "1" }));
    // Refused here, so that the body of a request without a route is never read.
    else if (request.is404) done(withoutRoute(request));
    else done();
  });
  refuseHeads(app);
  app.addHook("onSend", (_, reply, payload, done) => {
    if (context.draining.aborted) reply.header("connection", "close");
    done(null, payload);
  });
  app.addHook("onResponse", (request, reply, done) => {
    done();
    const { config, url } = routeOf(request);
    if (config.quiet && reply.statusCode < 400) return;
    request.log.debug(
      {
        request_id: request.id,
        method: request.method,
        // The route, not the address, which may contain a one-time token.
        route: url ?? "none",
        status: reply.statusCode,
        milliseconds: Math.round(reply.elapsedTime),
      },
      "request",
    );
  });
  const claims = new Claims(context);
  app.addHook("onClose", () => claims.close());
  consoleRoutes(app, context);
  serve(app, makeGuards(context), {
    ...operationRoutes(app, context, claims, version),
    ...peopleRoutes(context),
    ...zoneRoutes(context),
    ...variableSetRoutes(context),
    ...configurationRoutes(context),
    ...connectionRoutes(context),
    ...notificationRoutes(context),
    ...scheduleRoutes(context),
    ...identityRoutes(context),
    ...releaseRoutes(context),
    ...jobRoutes(context),
    ...issuerRoutes(context),
    ...claimRoutes(claims),
    ...logRoutes(app, context),
    ...planRoutes(context),
    ...stateRoutes(context),
    ...workerRoutes(context),
    ...teamRoutes(context),
    ...auditRoutes(context),
  });
  return app;
}

/** Whether the connection comes from a trusted proxy. */
const isTrusted = ({ ips = [] }: FastifyRequest): boolean => ips.length > 1;
