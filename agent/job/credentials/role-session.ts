/** The credentials of one job, renewed before they end for as long as the job runs. */
import { setTimeout as sleep } from "node:timers/promises";
import { backoff } from "../../../common/backoff.ts";
import { retry } from "../../../common/retry.ts";
import { RoleRefused, type AssumeRole, type SessionCredentials } from "./assume-role.ts";

/** Renewed when this part of their life is left: 15 minutes of an hour, time enough for STS to come back. */
const renewAtLeft = 0.25;
/** How often STS is asked while it fails, in milliseconds. */
const limits = { first: 500, most: 10_000 };
/** What a timer takes. */
const timerLimit = 2 ** 31 - 1;

export interface RoleSessionOptions {
  readonly assume: AssumeRole;
  /** Aborted when the job is over: STS is not asked any more. */
  readonly over: AbortSignal;
  /** Called with each new set before it is handed out. */
  onCredentials(credentials: SessionCredentials): void;
  /** STS fails, or does so no longer: for the user to read. */
  onTrouble(text: string): void;
}

interface Held {
  readonly credentials: SessionCredentials;
  /** By the monotonic clock, which stands still while a machine sleeps, and by the other one, which jumps. */
  readonly ends: { readonly steady: number; readonly clock: number };
}

export class RoleSession {
  readonly #options: RoleSessionOptions;
  #held: Held | undefined;
  #asking: Promise<SessionCredentials> | undefined;

  constructor(options: RoleSessionOptions) {
    this.#options = options;
  }

  /** Milliseconds for which the present set is good. */
  get left(): number {
    if (!this.#held) return 0;
    const { steady, clock } = this.#held.ends;
    return Math.max(0, Math.min(steady - performance.now(), clock - Date.now()));
  }

  /** A set that is good now. Throws what went wrong when there is none and STS gives none. */
  async current(): Promise<SessionCredentials> {
    return this.#held && this.left > 0 ? this.#held.credentials : this.#renew();
  }

  /** Gets the first set. Failures that may pass are waited for, at most so many milliseconds and until `stop`. */
  async begin(stop: AbortSignal, within: number): Promise<void> {
    const started = performance.now();
    await retry(() => this.#renew(AbortSignal.any([stop, this.#options.over])), {
      signal: stop,
      next: (error, tries) => {
        const pause = backoff(tries, Math.random(), 0, limits);
        const isTooLate = performance.now() + pause - started > within;
        if (isTooLate || error instanceof RoleRefused) return undefined;
        if (tries === 1) this.#options.onTrouble(troubleOf(error as Error));
        return pause;
      },
    });
  }

  /** Renews until the job is over. What is still good is given out while STS fails, for whatever reason. */
  async keep(): Promise<void> {
    const { over, onTrouble } = this.#options;
    for (let failures = 0; !over.aborted;) {
      await sleep(this.#pause(failures), undefined, { signal: over }).catch(() => {});
      if (over.aborted) return;
      try {
        await this.#renew();
        if (failures > 0 && !over.aborted) onTrouble("STS gives credentials again");
        failures = 0;
      } catch (error) {
        const left = Math.round(this.left / 1000);
        if (failures++ === 0 && !over.aborted)
          onTrouble(`${troubleOf(error as Error)}; the present ones are good for ${left} s`);
      }
    }
  }

  #pause(failures: number): number {
    if (failures > 0) return backoff(failures, Math.random(), 0, limits);
    if (!this.#held) return 0;
    const untilRenewal = this.left - this.#held.credentials.life * renewAtLeft;
    return Math.min(Math.max(untilRenewal, limits.first), timerLimit);
  }

  /** Callers that come while STS is asked share its answer. */
  #renew(signal = this.#options.over): Promise<SessionCredentials> {
    this.#asking ??= this.#ask(signal).finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #ask(signal: AbortSignal): Promise<SessionCredentials> {
    signal.throwIfAborted();
    const credentials = await this.#options.assume(signal);
    signal.throwIfAborted();
    this.#options.onCredentials(credentials);
    const { life } = credentials;
    const ends = { steady: performance.now() + life, clock: Date.now() + life };
    this.#held = { credentials, ends };
    return credentials;
  }
}

const troubleOf = ({ message }: Error): string =>
  `STS gives no credentials, trying again: ${message}`;
