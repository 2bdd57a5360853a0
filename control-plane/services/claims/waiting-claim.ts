/** A claim that waits for a job. */
import type { WorkerCaller } from "../callers.ts";
import { withLists, type Claimant } from "../../domain/worker.ts";
import type { ClaimRow } from "../../store/claims/claims.ts";
import type { WorkerCallerRow } from "../../store/workers/workers.ts";

/** One parked request, or several that repeat the same key. */
export interface Parked {
  claimant: Claimant;
  /** Of a token that a rotation has replaced: when it stops working. */
  tokenExpiresAt: number | null;
  readonly caller: WorkerCaller;
  readonly key: string | undefined;
  /** Connections that still want the answer. */
  waiting: number;
  isTrying: boolean;
  readonly answer: Promise<ClaimRow | null>;
  /** Settles the answer; false when it was settled before. */
  readonly end: (job: ClaimRow | null) => boolean;
  readonly fail: (error: unknown) => void;
  /** Takes over what the worker has and can do; whether that is something else now. */
  readonly renew: (worker: WorkerCallerRow) => boolean;
}

/** One that no caller awaits yet. */
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
  const entry: Parked = {
    claimant: withLists(worker),
    tokenExpiresAt: expiryOf(worker, worker.presented_hash),
    caller: worker,
    key,
    waiting: 0,
    isTrying: false,
    answer: promise,
    end: (job) => settle(() => resolve(job)),
    fail: (error) => settle(() => reject(error)),
    renew: (now) => {
      const before = entry.claimant;
      entry.claimant = withLists(now);
      entry.tokenExpiresAt = expiryOf(now, worker.presented_hash);
      return (
        before.labels.join() !== entry.claimant.labels.join() ||
        before.features.join() !== entry.claimant.features.join()
      );
    },
  };
  return entry;
}

const expiryOf = (worker: WorkerCallerRow, presented: string): number | null =>
  worker.token_hash === presented ? null : worker.old_token_expires_at;
