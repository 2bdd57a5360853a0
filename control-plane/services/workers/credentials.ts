/** Worker tokens, and what a control plane shows an agent before it is sent one. */
import { createHmac, randomBytes } from "node:crypto";
import type { ProveWorker, WorkerProof } from "../../../protocol/workers.ts";
import { RefusalError } from "../../domain/refusal.ts";
import { hashToken } from "../../domain/tokens.ts";
import { acceptsToken } from "../../domain/worker.ts";
import { findWorkerCaller, recordCall } from "../../store/workers/workers.ts";
import type { Origin, WorkerCaller } from "../callers.ts";
import type { Context } from "../context.ts";

/**
 * How often a call of an OFFLINE worker is recorded: ten times in the period after which jobs are
 * lost.
 */
const callFraction = 1 / 10;

/**
 * Returns the worker with this id and token. An unknown id and a wrong token get the same response
 * in the same time.
 */
export async function checkWorkerToken(
  { store, now, periods }: Pick<Context, "store" | "now" | "periods">,
  id: string,
  token: string,
  origin: Origin,
): Promise<WorkerCaller> {
  const worker = await store.read.first(findWorkerCaller, { id });
  const token_hash = hashToken(token);
  const isRight = acceptsToken(worker, token_hash, now());
  if (!worker || !isRight) throw new RefusalError("invalid_worker_token");
  // It delays the loss of an OFFLINE worker's jobs (docs/decisions.md, "Loss of a runner").
  if (
    worker.offline_at !== null &&
    now() - (worker.last_call_at ?? 0) > periods.lost * callFraction
  )
    await store.share((tx) => tx.run(recordCall, { id: worker.id, now: now() }));
  return { ...worker, presented_hash: token_hash, origin };
}

/** Used for an unknown worker: its proof looks like any other and is wrong. */
const unknown = randomBytes(32).toString("hex");

/** POST /api/workers/proof. */
export async function proveWorker(
  { store }: Context,
  { worker_id, nonce }: ProveWorker,
): Promise<WorkerProof> {
  const worker = await store.read.first(findWorkerCaller, { id: worker_id.toLowerCase() });
  const hmac = createHmac("sha256", worker?.token_hash ?? unknown);
  return { proof: hmac.update(`windlass worker proof\n${nonce}`).digest("base64url") };
}
