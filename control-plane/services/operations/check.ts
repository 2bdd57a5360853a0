/** A check of something that may hang, such as a disk or an object store. */
import { setTimeout as pause } from "node:timers/promises";

/** A caller waits at most this long for a check; then the result of the last one counts. */
const patience = 1000;

/** Runs a check at most once in a period, and remembers how the last one that ended has ended. */
export class Check {
  readonly #run: () => Promise<unknown>;
  readonly #period: number;
  readonly #onChange: (error: Error | undefined) => void;
  #running: Promise<void> | undefined;
  #endedAt = -Infinity;
  #error: Error | undefined;

  /** `run` throws if something is wrong. `onChange` is called when that begins or ends. */
  constructor(
    run: () => Promise<unknown>,
    period: number,
    onChange: (error: Error | undefined) => void = () => undefined,
  ) {
    this.#run = run;
    this.#period = period;
    this.#onChange = onChange;
  }

  /** Returns the error of the last check; undefined if it found none, or none has ended yet. */
  async error(): Promise<Error | undefined> {
    if (performance.now() - this.#endedAt >= this.#period) this.#running ??= this.#check();
    await this.settled();
    return this.#error;
  }

  async settled(): Promise<void> {
    if (this.#running === undefined) return;
    const timer = new AbortController();
    const { signal } = timer;
    await Promise.race([
      this.#running,
      pause(patience, undefined, { signal }).catch(() => undefined),
    ]);
    timer.abort();
  }

  async #check(): Promise<void> {
    const before = this.#error;
    try {
      await this.#run();
      this.#error = undefined;
    } catch (error) {
      this.#error = error as Error;
    }
    this.#running = undefined;
    this.#endedAt = performance.now();
    if ((before === undefined) !== (this.#error === undefined)) this.#onChange(this.#error);
  }
}
