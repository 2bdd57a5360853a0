/** The guards of all routes, made once. */
import { clientGuard, sessionGuard } from "./people.ts";
import { jobGuard } from "./jobs.ts";
import { pipelineGuard } from "./pipelines.ts";
import { registrantGuard } from "./registrants.ts";
import { workerGuard } from "./workers.ts";
import type { Context } from "../../services/context.ts";
import type { Guards } from "../route.ts";

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
