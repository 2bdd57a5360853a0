/** Renews the credentials of one job before they expire, for as long as it runs. */
import { setTimeout as sleep } from "node:timers/promises";
import { backoff } from "../../../common/backoff.ts";
import { retry } from "../../../common/retry.ts";
import { JournalError } from "../journal.ts";
import { IdentityRefusedError, ServerAwayError } from "./identity-errors.ts";
import { endsIn, leftOf, type Ends } from "./validity.ts";

/** Renewed when this part is left, 15 minutes of an hour, so that the source may fail for a while. */
const renewAtLeft = 0.25;
/** The pauses between calls of the source while it fails, in milliseconds. */
const limits = { first: 500, most: 10_000 };
/** The longest time that a timer accepts. */
const timerLimit = 2 ** 31 - 1;

/** A token that the journal does not have would not be revoked: no more of them. */
const isFinal = (error: unknown): boolean =>
  error instanceof IdentityRefusedError || error instanceof JournalError;

/** A set of credentials. */
export interface Expiring {
  /** For how many milliseconds from now it is valid. */
  readonly life: number;
}

export interface SessionOptions<T extends Expiring> {
  /** Makes one call. Throws `IdentityRefusedError` if a later one would fail too. */
  readonly obtain: (signal: AbortSignal) => Promise<T>;
  /** Who gives the credentials, in messages for the user. */
  readonly source: string;
  /** Aborted when the job is over: the source is no longer called. */
  readonly over: AbortSignal;
  /** Called with each new set before it is handed out. */
  onCredentials(credentials: T): void;
  /** There is a new valid set. */
  onRenewed(): void;
  /** The source fails, or works again: a message for the user. */
  onTrouble(text: string): void;
}

interface Session<T> {
  readonly credentials: T;
  readonly ends: Ends;
}

export class RenewedSession<T extends Expiring> {
  readonly #options: SessionOptions<T>;
  #session: Session<T> | undefined;
  #asking: Promise<T> | undefined;
  /** Aborted by the next reset. */
  #turn = new AbortController();
  #beginning: Promise<void> | undefined;

  constructor(options: SessionOptions<T>) {
    this.#options = options;
  }

  /** For how many milliseconds the present set is still valid. */
  get left(): number {
    return this.#session ? leftOf(this.#session.ends) : 0;
  }

  /** The present set, if it is still valid. */
  get valid(): T | undefined {
    const life = this.left;
    return this.#session && life > 0 ? { ...this.#session.credentials, life } : undefined;
  }

  /** Returns a valid set. Throws the last error if there is none and the source returns none. */
  async current(): Promise<T> {
    return this.#session && this.left > 0 ? this.#session.credentials : this.#renew();
  }

  /** Forgets the present set, also one that is on its way: the next one is of another phase. */
  reset(): void {
    this.#session = undefined;
    this.#asking = undefined;
    this.#turn.abort();
    this.#turn = new AbortController();
  }

  /**
   * Gets the first set, with retries until `stop`, and for at most `within` milliseconds, not
   * counting those in which the control plane is away.
   */
  begin(stop: AbortSignal, within: number): Promise<void> {
    this.#beginning = this.#begin(stop, within);
    return this.#beginning;
  }

  async #begin(stop: AbortSignal, within: number): Promise<void> {
    if (this.left > 0) return;
    let started = performance.now();
    await retry(() => this.#renew(AbortSignal.any([stop, this.#options.over])), {
      signal: stop,
      next: (error, tries) => {
        const pause = backoff(tries, Math.random(), 0, limits);
        const isAway = error instanceof ServerAwayError;
        if (isAway) started = performance.now() + pause;
        const isTooLate = !isAway && performance.now() + pause - started > within;
        if (isTooLate || isFinal(error)) return undefined;
        if (tries === 1) this.#options.onTrouble(this.#troubleOf(error as Error));
        return pause;
      },
    }).catch((error: Error) => {
      if (stop.aborted || isFinal(error)) throw error;
      throw new Error(`${this.#options.source} returns no credentials: ${error.message}`);
    });
  }

  /** Until the job is over. While the source fails, the set that is still valid is handed out. */
  async keep(): Promise<void> {
    const { over, source, onTrouble } = this.#options;
    for (let failures = 0; !over.aborted;) {
      const turn = this.#turn.signal;
      const signal = AbortSignal.any([over, turn]);
      // It reports its failures itself.
      await this.#beginning?.catch(() => {});
      await sleep(this.#pause(failures), undefined, { signal }).catch(() => {});
      if (over.aborted) return;
      try {
        await this.#renew();
        if (failures > 0 && !over.aborted) onTrouble(`${source} returns credentials again`);
        failures = 0;
      } catch (error) {
        if (turn.aborted) continue;
        const left = Math.round(this.left / 1000);
        if (failures++ === 0 && !over.aborted)
          onTrouble(
            `${this.#troubleOf(error as Error)}; the present ones are valid for another ${left} s`,
          );
      }
    }
  }

  #pause(failures: number): number {
    if (failures > 0) return backoff(failures, Math.random(), 0, limits);
    if (!this.#session) return 0;
    const untilRenewal = this.left - this.#session.credentials.life * renewAtLeft;
    return Math.min(Math.max(untilRenewal, limits.first), timerLimit);
  }

  /** Callers that come while a call is running share its result. */
  #renew(signal = this.#options.over): Promise<T> {
    if (this.#asking) return this.#asking;
    const asking = this.#ask(AbortSignal.any([signal, this.#turn.signal])).finally(() => {
      if (this.#asking === asking) this.#asking = undefined;
    });
    this.#asking = asking;
    return asking;
  }

  async #ask(signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const credentials = await this.#options.obtain(signal);
    signal.throwIfAborted();
    this.#options.onCredentials(credentials);
    this.#session = { credentials, ends: endsIn(credentials.life) };
    this.#options.onRenewed();
    return credentials;
  }

  #troubleOf = ({ message }: Error): string =>
    `${this.#options.source} returns no credentials; trying again: ${message}`;
}
