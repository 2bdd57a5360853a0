import type { FastifyInstance } from "fastify";
import { endpoints } from "../../protocol/endpoints.ts";
import { routeOf } from "../http/route-of.ts";
import type { Routes } from "../http/route.ts";
import { sent } from "../http/sent.ts";
import type { Claims } from "../services/claims/claims.ts";
import type { Context } from "../services/context.ts";
import { openMetrics } from "../services/operations/metrics.ts";
import { openReadiness } from "../services/operations/readiness.ts";

const options = { quiet: true, alsoWhileStopping: true };

export function operationRoutes(
  app: FastifyInstance,
  context: Context,
  claims: Claims,
  version: string,
) {
  const readiness = openReadiness(context, app.log);
  app.addHook("onClose", () => readiness.settled());
  const metrics = openMetrics(context, claims, readiness);
  app.addHook("onResponse", (request, reply, done) => {
    done();
    const { url: route = "none", config } = routeOf(request);
    const status = reply.statusCode;
    metrics.answered({ method: request.method, route, status, seconds: reply.elapsedTime / 1000 });
    if (config.endpoint === endpoints.appendLogs && status < 300)
      metrics.logged(Number(request.headers["content-length"] ?? 0));
  });
  // Loaded and built at the first request: it would cost every start.
  const write = async () => {
    const { openApiDocument } = await import("../openapi/document.ts");
    return JSON.stringify(openApiDocument(version));
  };
  let document: Promise<string> | undefined;
  return {
    readHealth: { ...options, handle: async () => ({ status: "ok" as const }) },
    readReadiness: {
      ...options,
      handle: async () => {
        await readiness.requireReady();
        const found = await readiness.problems();
        const problems = [...found].map(([part, what]) => `${part}: ${what}`);
        return { status: "ready" as const, problems };
      },
    },
    readMetrics: {
      ...options,
      handle: async ({ reply }) => {
        const { text, type } = await metrics.scrape();
        reply.header("content-type", type).send(text);
        return sent;
      },
    },
    readOpenapi: async ({ reply }) => {
      document ??= write();
      reply.type("application/json; charset=utf-8").send(await document);
      return sent;
    },
  } satisfies Partial<Routes>;
}
