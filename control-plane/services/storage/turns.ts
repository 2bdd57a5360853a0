/** Work in the background in small turns. */
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";

/** The pause between two turns, in which other transactions write. */
const pauseMilliseconds = 5;

export class Turns {
  readonly #stop: AbortSignal | undefined;
  constructor(stop: AbortSignal | undefined) {
    this.#stop = stop;
  }

  /** False when no other turn may begin. */
  async next(): Promise<boolean> {
    await pause(pauseMilliseconds, undefined, { signal: this.#stop }).catch(() => undefined);
    return this.#stop?.aborted !== true;
  }

  /** The same after a turn that only read: other requests run, without a pause. */
  async nextRead(): Promise<boolean> {
    await nextTurn();
    return this.#stop?.aborted !== true;
  }
}
