/** What the operator's tools ask: does it live, is it ready. */
import type { FastifyInstance } from "fastify";
import { Refusal } from "../problem.ts";
import type { Context } from "../services/context.ts";
import { findFact } from "../store/facts.ts";

export function operationRoutes(app: FastifyInstance, context: Context): void {
  app.get("/healthz", { config: { quiet: true } }, async () => ({ status: "ok" }));
  app.get("/readyz", { config: { quiet: true } }, async () => {
    if (context.draining.aborted) throw new Refusal("unavailable", "the server is stopping");
    // Reads the store: a server that cannot is not ready.
    await findFact(context.store.read, "public_url");
    return { status: "ready" };
  });
}
