/**
 * Remembers when the control plane last responded. Time is the machine's uptime, which no change of
 * the clock affects.
 */

/**
 * The kinds of calls that are watched: the heartbeat, which shows that the agent lives, and the
 * claims, which bring jobs.
 */
export type Line = "heartbeat" | "claim";

/**
 * Remembers for each kind of call how long there was no response. A kind that is not in use counts
 * as responding.
 */
export class Contact {
  readonly #now: () => number;
  readonly #heard: Record<Line, number>;
  readonly #paused = new Set<Line>();

  /** `now` in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#heard = { heartbeat: now(), claim: now() };
  }

  /** The control plane has responded to a call of this kind. */
  heard(line: Line): void {
    this.#heard[line] = this.#now();
  }

  /** No calls of this kind are made for now, such as claims while every slot is taken. */
  pause(line: Line): void {
    this.#paused.add(line);
  }

  /** Calls of this kind are made again; the silence counts from now. */
  resume(line: Line): void {
    if (this.#paused.delete(line)) this.heard(line);
  }

  /** Returns the seconds since the last response, of the kind of call that had none for longest. */
  silence(): number {
    const lines = (Object.keys(this.#heard) as Line[]).filter((line) => !this.#paused.has(line));
    return Math.max(0, ...lines.map((line) => this.#now() - this.#heard[line])) / 1000;
  }
}
