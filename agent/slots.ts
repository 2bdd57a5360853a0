/** How many jobs may run at once. Taken before a claim, so that a claimed job never waits. */
export class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Resolves when a slot is taken; rejects when the signal ends the wait. */
  async take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) return void this.#free--;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const refuse = (): void => {
      const index = this.#waiting.indexOf(resolve);
      if (index >= 0) this.#waiting.splice(index, 1);
      reject(signal.reason as Error);
    };
    this.#waiting.push(resolve);
    signal.addEventListener("abort", refuse, { once: true });
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", refuse);
    }
  }

  /** Takes a slot even if none is free: for jobs that already run when the agent starts. */
  takeAnyway(): void {
    this.#free--;
  }

  give(): void {
    this.#free++;
    if (this.#free <= 0) return;
    const next = this.#waiting.shift();
    if (!next) return;
    this.#free--;
    next();
  }
}
