/** Shows an agent, before it sends its token, that this control plane knows its worker. */
import { createHmac, randomBytes } from "node:crypto";
import type { ProveWorker, WorkerProof } from "../../../protocol/workers.ts";
import { findWorkerCaller } from "../../store/workers/workers.ts";
import type { Context } from "../context.ts";

/** For a worker that is not here: its proof looks like any other, and is wrong. */
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
