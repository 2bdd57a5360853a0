/** What the operator's tools ask: does it live, is it ready. */
import type { FastifyInstance } from "fastify";
import { endpoints } from "../../protocol/endpoints.ts";
import type { Context } from "../services/context.ts";
import { openMetrics } from "../services/metrics.ts";
import { readiness } from "../services/readiness.ts";

/** Adds the routes of this file. */
export function operationRoutes(app: FastifyInstance, context: Context): void {
  const checkReady = readiness(context);
  const config = { quiet: true, alsoWhileStopping: true };
  app.get("/healthz", { config }, async () => ({ status: "ok" }));
  app.get("/readyz", { config }, async () => {
    await checkReady();
    return { status: "ready" };
  });
  const metrics = openMetrics(context);
  app.addHook("onResponse", (request, reply, done) => {
    done();
    const { url: route = "none", config } = request.routeOptions;
    const status = reply.statusCode;
    metrics.answered({ method: request.method, route, status, seconds: reply.elapsedTime / 1000 });
    if (config.endpoint === endpoints.appendLogs && status < 300)
      metrics.logged(Number(request.headers["content-length"] ?? 0));
  });
  app.get("/metrics", { config }, async (_, reply) => {
    const { text, type } = await metrics.scrape();
    return reply.header("content-type", type).send(text);
  });
  app.get("/openapi.json", async () => app.swagger());
}
