/**
 * Work with large definitions: up to 8 MiB of a configuration and 16 MiB of its variable sets are
 * read, opened, hashed and sealed before the transaction that needs them, which only checks that
 * nothing has changed since. Otherwise every other change would wait for it. The work of a space is
 * done one piece after the other, and spaces take turns.
 */
import { setImmediate } from "node:timers/promises";
import { RefusalError } from "../domain/refusal.ts";
import { kibibyte } from "../../common/units.ts";

/** Longer definitions take turns. Opening and sealing shorter ones takes less than 2 ms. */
export const largeBytes = 64 * kibibyte;

/** How many spaces have their turn at one server at a time: while one waits for the store, another runs. */
const runningLimit = 2;
/** How many requests of one space wait for their turn at one server. */
export const waitingLimit = 32;

/** Requests that wait, by space: in the order in which the spaces have their turns. */
const waiting = new Map<string, (() => void)[]>();
const running = new Set<string>();

/** Throws 429 if too much of the space waits. */
export async function inTurn<T>(
  space: string,
  bytes: number,
  work: () => Promise<T>,
  limit = waitingLimit,
): Promise<T> {
  if (bytes <= largeBytes) return work();
  await takeTurn(space, limit);
  try {
    return await work();
  } finally {
    running.delete(space);
    goBehind(space);
    startNext();
  }
}

async function takeTurn(space: string, limit: number): Promise<void> {
  const queue = waiting.get(space) ?? [];
  if (queue.length >= limit)
    throw new RefusalError(
      "too_many_requests",
      `${waitingLimit} requests of this space with large configurations or variable sets wait already; try again in a moment`,
      {},
      { "retry-after": "1" },
    );
  const { promise, resolve } = Promise.withResolvers<void>();
  waiting.set(space, [...queue, resolve]);
  startNext();
  await promise;
}

/** A space that had its turn goes behind all others. */
function goBehind(space: string): void {
  const queue = waiting.get(space);
  waiting.delete(space);
  if (queue) waiting.set(space, queue);
}

function startNext(): void {
  for (const [space, [first, ...rest]] of waiting) {
    if (running.size >= runningLimit) return;
    if (running.has(space)) continue;
    if (rest.length > 0) waiting.set(space, rest);
    else waiting.delete(space);
    running.add(space);
    first?.();
  }
}

/** Lets other requests run between two steps with a large definition, each of up to 60 ms. */
export const letOthers = (bytes: number): Promise<void> | undefined =>
  bytes > largeBytes ? setImmediate() : undefined;

/** Something that was opened before a transaction has been changed since. */
export class ChangedMeanwhileError extends Error {
  override readonly name = "ChangedMeanwhileError";
}

const attempts = 5;

/** Runs work again if what it opened was changed before its transaction. */
export async function untilUnchanged<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; attempt <= attempts; attempt += 1)
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ChangedMeanwhileError)) throw error;
    }
  throw new RefusalError(
    "changed_meanwhile",
    "the configuration or one of its variable sets was changed again and again meanwhile: try again",
  );
}

/** Remembers what is made before a transaction (opened, hashed, sealed), by what it is made of. */
export class Drafts {
  readonly #made: Map<string, Promise<unknown>>;
  readonly #isReadOnly: boolean;

  constructor(made?: Map<string, Promise<unknown>>) {
    this.#made = made ?? new Map<string, Promise<unknown>>();
    this.#isReadOnly = made !== undefined;
  }

  /** Returns the same drafts for a transaction, in which nothing more is made. */
  readOnly(): Drafts {
    return new Drafts(this.#made);
  }

  /** Makes it unless it is there. Read-only drafts throw ChangedMeanwhileError instead. */
  async of<T>(madeOf: readonly unknown[], make: () => Promise<T>): Promise<T> {
    const key = JSON.stringify(madeOf);
    const made = this.#made.get(key) as Promise<T> | undefined;
    if (made !== undefined) return made;
    if (this.#isReadOnly) throw new ChangedMeanwhileError();
    const making = make();
    this.#made.set(key, making);
    return making;
  }
}
