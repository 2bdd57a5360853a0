/** A claim that waits for a job. */
import type { WorkerCaller } from "../auth/callers.ts";
import type { Claimant } from "../domain/worker.ts";
import type { ClaimRow } from "../store/claim.ts";

/** One parked request, or several that repeat the same key. */
export interface Parked {
  readonly claimant: Claimant;
  readonly caller: WorkerCaller;
  readonly key: string | undefined;
  /** Connections that still want the answer. */
  waiting: number;
  isTrying: boolean;
  readonly answer: Promise<ClaimRow | null>;
  /** Settles the answer; false when it was settled before. */
  readonly end: (job: ClaimRow | null) => boolean;
  readonly fail: (error: unknown) => void;
}

/** One that nobody waits for yet. */
export function newParked({
  worker,
  key,
}: {
  readonly worker: WorkerCaller;
  readonly key: string | undefined;
}): Parked {
  const { promise, resolve, reject } = Promise.withResolvers<ClaimRow | null>();
  let isSettled = false;
  const settle = (how: () => void): boolean => {
    if (isSettled) return false;
    isSettled = true;
    how();
    return true;
  };
  return {
    claimant: { ...worker, labels: JSON.parse(worker.labels) as string[] },
    caller: worker,
    key,
    waiting: 0,
    isTrying: false,
    answer: promise,
    end: (job) => settle(() => resolve(job)),
    fail: (error) => settle(() => reject(error)),
  };
}
