/** Worker tokens: `X-Worker-ID` and `X-Worker-Token` on every runner call. */
import { hashToken } from "../../domain/tokens.ts";
import { acceptsToken } from "../../domain/worker.ts";
import { RefusalError } from "../../domain/refusal.ts";
import type { Guard } from "../route.ts";
import type { Context } from "../../services/context.ts";
import { findWorkerCaller, recordCall } from "../../store/workers/workers.ts";
import type { WorkerCaller } from "../../services/callers.ts";

/** A call while OFFLINE is recorded at most so often: ten times in the period after which jobs are lost. */
const callFraction = 1 / 10;

/** Lets registered workers in. An unknown id and a wrong token look the same and take the same path. */
export function workerGuard({ store, now, periods }: Context): Guard<WorkerCaller> {
  return async (request) => {
    const { headers } = request;
    const { "x-worker-id": id, "x-worker-token": token } = headers;
    if (typeof id !== "string" || typeof token !== "string")
      throw new RefusalError("invalid_worker_token", "send X-Worker-ID and X-Worker-Token");
    const worker = await store.read.first(findWorkerCaller, { id: id.toLowerCase() });
    const token_hash = hashToken(token);
    const isRight = acceptsToken(worker, token_hash, now());
    if (!worker || !isRight) throw new RefusalError("invalid_worker_token");
    // It delays the loss of an OFFLINE worker's jobs (docs/decisions.md, "Loss of a runner").
    if (
      worker.offline_at !== null &&
      now() - (worker.last_call_at ?? 0) > periods.lost * callFraction
    )
      await store.write((tx) => tx.run(recordCall, { id: worker.id, now: now() }));
    return { ...worker, presented_hash: token_hash, origin: request };
  };
}
