/** Combines questions to the store: those of one owner that come while one is answered share the next. */
import type { WorkerCaller } from "../callers.ts";

type Ask = (worker: WorkerCaller) => Promise<boolean>;

/**
 * Returns `ask` for a store to which each question is a round trip. The answer depends only on the
 * worker's owner, and is never older than the call that gets it.
 */
export function askedTogether(ask: Ask): Ask {
  const running = new Map<string | null, Promise<unknown>>();
  const next = new Map<string | null, Promise<boolean>>();
  const askAfter = async (before: Promise<unknown> | undefined, worker: WorkerCaller) => {
    const owner = worker.owner_id;
    await before?.catch(() => undefined);
    next.delete(owner);
    const answer = ask(worker);
    running.set(owner, answer);
    try {
      return await answer;
    } finally {
      if (running.get(owner) === answer) running.delete(owner);
    }
  };
  return (worker) => {
    const owner = worker.owner_id;
    const asked = next.get(owner) ?? askAfter(running.get(owner), worker);
    next.set(owner, asked);
    return asked;
  };
}
