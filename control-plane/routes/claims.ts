/** What runners call about jobs: claim, status, logs. */
import type { FastifyInstance } from "fastify";
import { endpoints } from "../../protocol/endpoints.ts";
import type { Claims } from "../services/claims/claims.ts";
import type { Context } from "../services/context.ts";
import { appendLogs, reportStatus } from "../services/jobs/reports.ts";
import { repairLogPost, repairReport } from "../services/jobs/report-repair.ts";
import { goneSignal } from "../http/gone.ts";
import { bodilessRoutes, route, sent, type Guards } from "../http/route.ts";

/** Adds the routes of this file. */
export function executionRoutes(
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

  route(
    app,
    endpoints.reportStatus,
    guards,
    async ({ caller, params, headers, body }) =>
      reportStatus(context, caller, params.id, headers["x-job-attempt"], body),
    { dropsExcess: true, repair: repairReport },
  );

  route(
    app,
    endpoints.appendLogs,
    guards,
    async ({ caller, params, headers, body, reply }) => {
      const attempt = headers["x-job-attempt"];
      const { stored, ...appended } = await appendLogs(context, caller, params.id, attempt, body);
      reply.code(stored ? 201 : 200).send(appended);
      return sent;
    },
    { quiet: true, repair: repairLogPost },
  );
}
