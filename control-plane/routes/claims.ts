/** Claims: a runner asks for a job. */
import type { FastifyInstance } from "fastify";
import { endpoints } from "../../protocol/endpoints.ts";
import type { Claims } from "../services/claims/claims.ts";
import type { Context } from "../services/context.ts";
import { goneSignal } from "../http/gone.ts";
import { bodilessRoutes, route, sent, type Guards } from "../http/route.ts";

export function claimRoutes(
  app: FastifyInstance,
  context: Context,
  guards: Guards,
  claims: Claims,
): void {
  bodilessRoutes(app, (bodiless) => {
    route(
      bodiless,
      endpoints.claimJob,
      guards,
      async ({ caller, query, headers, reply }) => {
        const text = await claims.claim({
          worker: caller,
          key: headers["idempotency-key"],
          waitMilliseconds: (query.wait ?? 0) * 1000,
          gone: () => goneSignal(reply),
        });
        if (text === null) reply.code(204).send();
        else reply.type("application/json; charset=utf-8").send(text);
        return sent;
      },
      { quiet: true },
    );
  });
}
