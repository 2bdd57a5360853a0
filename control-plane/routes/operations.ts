/** What the operator's tools ask: does it live, is it ready. */
import type { FastifyInstance } from "fastify";
import type { Context } from "../services/context.ts";
import { checkReady } from "../services/readiness.ts";

/** Adds the routes of this file. */
export function operationRoutes(app: FastifyInstance, context: Context): void {
  app.get("/healthz", { config: { quiet: true } }, async () => ({ status: "ok" }));
  app.get("/readyz", { config: { quiet: true } }, async () => {
    await checkReady(context);
    return { status: "ready" };
  });
  app.get("/openapi.json", async () => app.swagger());
}
