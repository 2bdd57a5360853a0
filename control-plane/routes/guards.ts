/** The guards of all routes, made once. */
import { clientGuard, sessionGuard } from "../auth/guard.ts";
import { jobGuard } from "../auth/job-tokens.ts";
import { pipelineGuard } from "../auth/pipeline.ts";
import { registrantGuard } from "../auth/registrant.ts";
import { workerGuard } from "../auth/worker-tokens.ts";
import type { Context } from "../services/context.ts";
import type { Guards } from "./route.ts";

/** All guards over one context. */
export function makeGuards(context: Context): Guards {
  const worker = workerGuard(context);
  const client = clientGuard(context);
  return {
    anyone: async () => null,
    session: sessionGuard(context),
    client,
    worker,
    registrant: registrantGuard(context, { worker, client }),
    job: jobGuard(context),
    pipeline: pipelineGuard(context),
  };
}
