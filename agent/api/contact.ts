/** When the control plane was last heard. Time is the machine's uptime, which no change of the clock moves. */

/** What is listened to: that the agent is known to live, and that it may get jobs. */
export type Line = "heartbeat" | "claim";

/** Remembers per line how long it has been silent. A line that is not used now counts as heard. */
export class Contact {
  readonly #now: () => number;
  readonly #heard: Record<Line, number>;
  readonly #idle = new Set<Line>();

  /** `now` in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#heard = { heartbeat: now(), claim: now() };
  }

  /** The control plane has answered on this line. */
  heard(line: Line): void {
    this.#heard[line] = this.#now();
  }

  /** Nothing is asked on this line for now, such as claims while every slot is taken. */
  rest(line: Line): void {
    this.#idle.add(line);
  }

  /** The line is used again; its silence counts from now. */
  resume(line: Line): void {
    if (this.#idle.delete(line)) this.heard(line);
  }

  /** Seconds since the line that was silent longest was heard. */
  silence(): number {
    const lines = (Object.keys(this.#heard) as Line[]).filter((line) => !this.#idle.has(line));
    return Math.max(0, ...lines.map((line) => this.#now() - this.#heard[line])) / 1000;
  }
}
