/** Repeats calls until a response or a refusal, and accepts responses of any shape. */
import type { Logger } from "pino";
import type { Dispatcher } from "../../common/http-client.ts";
import { backoff, type BackoffLimits } from "../../common/backoff.ts";
import { retry } from "../../common/retry.ts";
import { mebibyte } from "../../common/units.ts";
import { textWithin } from "../../protocol/transport.ts";
import { describe } from "./describe.ts";
import { sortFailure, type Revocation } from "./failures.ts";

export interface RetryContext {
  readonly revocation: Revocation;
  readonly log: Logger;
  readonly retry: BackoffLimits;
}

/** The time that a response may take, in milliseconds; then the call is repeated. */
export const responseTimeout = 30_000;

/**
 * Repeats a call until there is a response or a refusal. `mostTries`: gives up after this many
 * failures while the control plane accepts other calls; while it is away, failures do not count.
 */
export async function retryCall<T>(
  { log, revocation, retry: limits }: RetryContext,
  what: string,
  signal: AbortSignal,
  once: () => Promise<T>,
  mostTries = Infinity,
): Promise<T> {
  let failures = 0;
  let acceptedBefore = revocation.acceptedCalls;
  const attempt = async (): Promise<T> => {
    const begun = performance.now();
    const answer = await once();
    revocation.accepted();
    log.debug({ call: what, milliseconds: Math.round(performance.now() - begun) }, "call");
    return answer;
  };
  return retry(attempt, {
    signal,
    next: (error, tries) => {
      const failure = sortFailure(error);
      if (failure.kind === "give up") {
        revocation.accepted();
        return undefined;
      }
      if (failure.kind === "unauthorized") {
        revocation.refused();
        if (revocation.isRevoked) return undefined;
      }
      if (revocation.acceptedCalls > acceptedBefore) failures++;
      acceptedBefore = revocation.acceptedCalls;
      if (failures >= mostTries) return undefined;
      const wish = failure.kind === "retry" ? failure.after : 0;
      const delay = backoff(tries, Math.random(), wish, limits);
      log.warn(
        { call: what, tries, error: describe(error), retry_in_ms: Math.round(delay) },
        failure.kind === "unauthorized"
          ? "the control plane refuses this worker's token; the agent ends if it keeps doing so"
          : "a call of the control plane failed; it is repeated",
      );
      return delay;
    },
  });
}

/** More than any claim has: values of up to 4 MiB, and files and former secrets of 1 MiB each. */
export const responseLimit = 32 * mebibyte;

/** Reads a response that the interface does not define; an empty object if it is no object. */
export async function readLeniently(answer: Dispatcher.ResponseData): Promise<object> {
  const text = (await textWithin(answer.body, responseLimit)) ?? "";
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}
