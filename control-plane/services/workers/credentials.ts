/** Worker tokens, and what a control plane shows an agent before it is sent one. */
import { randomBytes } from "node:crypto";
import { workerProof } from "../../../common/worker-proof.ts";
import type { ProveWorker, WorkerProof } from "../../../protocol/workers.ts";
import { RefusalError } from "../../domain/refusal.ts";
import { hashToken } from "../../domain/tokens.ts";
import { acceptsToken } from "../../domain/worker.ts";
import { findWorkerCaller, recordCall, type WorkerCallerRow } from "../../store/workers/workers.ts";
import type { Origin, WorkerCaller } from "../callers.ts";
import type { Context } from "../context.ts";

/** Ten calls of an OFFLINE worker are recorded in the period after which jobs are lost. */
const callFraction = 1 / 10;

/** Milliseconds a row is reused: bounds the cost of a lost wakeup. */
const rowMilliseconds = 500;
/** Where periods are short: a row is at most this old when it is compared with the offline period. */
const rowFraction = 1 / 20;
/** About 1 KB each. */
const rowsInMemory = 10_000;

interface Remembered {
  readonly worker: WorkerCallerRow;
  readonly version: number;
  readonly until: number;
}

/** An unknown id and a wrong token get the same response in the same time. */
export function workerTokens(context: Context) {
  const { store, wakeups, now, periods } = context;
  const remembered = new Map<string, Remembered>();
  const lifetime = Math.min(rowMilliseconds, periods.offline * rowFraction);

  const recall = (id: string): WorkerCallerRow | undefined => {
    const row = remembered.get(id);
    // The version first: after a revocation no row from before is used.
    if (row?.version === wakeups.version("worker") && performance.now() < row.until)
      return row.worker;
    remembered.delete(id);
    return undefined;
  };

  const read = async (id: string): Promise<WorkerCallerRow | undefined> => {
    // Before the read: what changes meanwhile makes the row out of date.
    const version = wakeups.version("worker");
    const worker = await store.read.first(findWorkerCaller, { id });
    // Calls of an OFFLINE worker are recorded in its row.
    if (worker?.offline_at !== null) return worker;
    if (remembered.size >= rowsInMemory) remembered.clear();
    remembered.set(id, { worker, version, until: performance.now() + lifetime });
    return worker;
  };

  const readAndCheck = async (
    id: string,
    presented_hash: string,
    origin: Origin,
  ): Promise<WorkerCaller> => {
    const worker = await read(id);
    const isRight = acceptsToken(worker, presented_hash, now());
    if (!worker || !isRight) throw new RefusalError("invalid_worker_token");
    // It delays the loss of an OFFLINE worker's jobs (docs/decisions.md, "Loss of a runner").
    if (
      worker.offline_at !== null &&
      now() - (worker.last_call_at ?? 0) > periods.lost * callFraction
    )
      await store.share((tx) => tx.run(recordCall, { id: worker.id, now: now() }), {
        row: worker.id,
        mayWait: true,
      });
    return { ...worker, presented_hash, origin };
  };

  return {
    /** Returns the worker with this id and token; without a promise, if the worker's row is in memory. */
    check(id: string, token: string, origin: Origin): WorkerCaller | Promise<WorkerCaller> {
      const presented_hash = hashToken(token);
      const worker = recall(id);
      // A token that is wrong for a row in memory may be newer, and takes as long as an unknown id.
      return worker && acceptsToken(worker, presented_hash, now())
        ? { ...worker, presented_hash, origin }
        : readAndCheck(id, presented_hash, origin);
    },
  };
}

/** Used for an unknown worker: its proof looks like any other and is wrong. */
const unknown = randomBytes(32).toString("hex");

export async function proveWorker(
  { store, box }: Context,
  { worker_id, nonce }: ProveWorker,
): Promise<WorkerProof> {
  const id = worker_id.toLowerCase();
  const worker = await store.read.first(findWorkerCaller, { id });
  const proofOf = (key: string): string => workerProof(key, nonce);
  return {
    proof: proofOf(worker?.token_hash ?? unknown),
    key_proofs: box("worker-proof").signatures(id).map(proofOf),
  };
}

/** The key of those proofs, for an agent that is to know it. */
export const proofKeyOf = ({ box }: Pick<Context, "box">, worker: string): string =>
  box("worker-proof").sign(worker);
