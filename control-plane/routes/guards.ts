/** The guards of all routes, made once. */
import type { UserCaller, WorkerCaller } from "../auth/callers.ts";
import { clientGuard, sessionGuard } from "../auth/guard.ts";
import { pipelineGuard } from "../auth/pipeline.ts";
import { workerGuard } from "../auth/worker-tokens.ts";
import type { Context } from "../services/context.ts";
import type { Guard } from "./route.ts";

export interface Guards {
  readonly worker: Guard<WorkerCaller>;
  readonly client: Guard<UserCaller>;
  readonly session: Guard<UserCaller>;
  readonly pipeline: Guard<null>;
  readonly anyone: Guard<null>;
}

/** All guards over one context. */
export const makeGuards = (context: Context): Guards => ({
  worker: workerGuard(context),
  client: clientGuard(context),
  session: sessionGuard(context),
  pipeline: pipelineGuard(context),
  anyone: async () => null,
});
