/** Renews the credentials of one job before they expire, for as long as it runs. */
import { setTimeout as sleep } from "node:timers/promises";
import { backoff } from "../../../common/backoff.ts";
import { retry } from "../../../common/retry.ts";
import { RoleRefusedError, type AssumeRole, type SessionCredentials } from "./assume-role.ts";
import { endsIn, leftOf, type Ends } from "./validity.ts";

/** Renewed when this part is left, 15 minutes of an hour, so that STS may fail for a while. */
const renewAtLeft = 0.25;
/** The pauses between calls of STS while it fails, in milliseconds. */
const limits = { first: 500, most: 10_000 };
/** The longest time that a timer accepts. */
const timerLimit = 2 ** 31 - 1;

export interface RoleSessionOptions {
  readonly assume: AssumeRole;
  /** Aborted when the job is over: STS is no longer called. */
  readonly over: AbortSignal;
  /** Called with each new set before it is handed out. */
  onCredentials(credentials: SessionCredentials): void;
  /** There is a new valid set. */
  onRenewed(): void;
  /** STS fails, or works again: a message for the user. */
  onTrouble(text: string): void;
}

interface Session {
  readonly credentials: SessionCredentials;
  readonly ends: Ends;
}

export class RoleSession {
  readonly #options: RoleSessionOptions;
  #session: Session | undefined;
  #asking: Promise<SessionCredentials> | undefined;

  constructor(options: RoleSessionOptions) {
    this.#options = options;
  }

  /** For how many milliseconds the present set is still valid. */
  get left(): number {
    return this.#session ? leftOf(this.#session.ends) : 0;
  }

  /** The present set, if it is still valid. */
  get valid(): SessionCredentials | undefined {
    const life = this.left;
    return this.#session && life > 0 ? { ...this.#session.credentials, life } : undefined;
  }

  /** Returns a valid set. Throws the last error if there is none and STS returns none. */
  async current(): Promise<SessionCredentials> {
    return this.#session && this.left > 0 ? this.#session.credentials : this.#renew();
  }

  /** Gets the first set, with retries for at most `within` milliseconds and until `stop`. */
  async begin(stop: AbortSignal, within: number): Promise<void> {
    const started = performance.now();
    await retry(() => this.#renew(AbortSignal.any([stop, this.#options.over])), {
      signal: stop,
      next: (error, tries) => {
        const pause = backoff(tries, Math.random(), 0, limits);
        const isTooLate = performance.now() + pause - started > within;
        if (isTooLate || error instanceof RoleRefusedError) return undefined;
        if (tries === 1) this.#options.onTrouble(troubleOf(error as Error));
        return pause;
      },
    });
  }

  /** Until the job is over. While STS fails, the set that is still valid is handed out. */
  async keep(): Promise<void> {
    const { over, onTrouble } = this.#options;
    for (let failures = 0; !over.aborted;) {
      await sleep(this.#pause(failures), undefined, { signal: over }).catch(() => {});
      if (over.aborted) return;
      try {
        await this.#renew();
        if (failures > 0 && !over.aborted) onTrouble("STS returns credentials again");
        failures = 0;
      } catch (error) {
        const left = Math.round(this.left / 1000);
        if (failures++ === 0 && !over.aborted)
          onTrouble(
            `${troubleOf(error as Error)}; the present ones are valid for another ${left} s`,
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

  /** Callers that come while a call of STS is running share its result. */
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
    this.#session = { credentials, ends: endsIn(credentials.life) };
    this.#options.onRenewed();
    return credentials;
  }
}

const troubleOf = ({ message }: Error): string =>
  `STS returns no credentials; trying again: ${message}`;
