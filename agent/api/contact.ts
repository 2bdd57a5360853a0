/** Remembers when the control plane last responded, by a clock that no change of the time affects. */

/** The calls that are watched: heartbeats show that the agent lives, claims bring jobs. */
export type CallKind = "heartbeat" | "claim";

/** A kind of call that is paused counts as responding. */
export class Contact {
  readonly #now: () => number;
  readonly #heard: Record<CallKind, number>;
  readonly #paused = new Set<CallKind>();

  /** `now` in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#heard = { heartbeat: now(), claim: now() };
  }

  /** The control plane has responded to a call of this kind. */
  heard(kind: CallKind): void {
    this.#heard[kind] = this.#now();
  }

  /** No calls of this kind are made for now, such as claims while every slot is taken. */
  pause(kind: CallKind): void {
    this.#paused.add(kind);
  }

  /** Calls of this kind are made again; the silence counts from now. */
  resume(kind: CallKind): void {
    if (this.#paused.delete(kind)) this.heard(kind);
  }

  /** Returns the seconds since the last response, of the kind of call that had none for longest. */
  silence(): number {
    const kinds = (Object.keys(this.#heard) as CallKind[]).filter(
      (kind) => !this.#paused.has(kind),
    );
    return Math.max(0, ...kinds.map((kind) => this.#now() - this.#heard[kind])) / 1000;
  }
}
