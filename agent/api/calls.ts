/** How calls are made: repeated until they are answered or refused, and read without hope for a certain shape. */
import type { Logger } from "pino";
import type { Dispatcher } from "undici";
import { ProblemError } from "../../protocol/transport.ts";
import { backoff, type BackoffLimits } from "../../common/backoff.ts";
import { retry } from "../../common/retry.ts";
import { sortFailure, type Revocation } from "./failures.ts";

export interface Persistence {
  readonly revocation: Revocation;
  readonly log: Logger;
  readonly retry: BackoffLimits;
}

/** An answer that takes longer, in milliseconds, is asked for again. */
export const answerTimeout = 30_000;

/**
 * Repeats a call until it is answered or refused. `mostTries`: gives up after so many that failed while the control plane accepted other
 * calls; while it is away, failures do not count.
 */
export async function persist<T>(
  { log, revocation, retry: limits }: Persistence,
  what: string,
  signal: AbortSignal,
  once: () => Promise<T>,
  mostTries = Infinity,
): Promise<T> {
  let failures = 0;
  let acceptedBefore = revocation.acceptedCalls;
  const attempt = async (): Promise<T> => {
    const answer = await once();
    revocation.accepted();
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
        "the control plane did not take this call; it is tried again",
      );
      return delay;
    },
  });
}

/** Answers that the interface does not show: an object where there is one, nothing for any other text. */
export async function readLeniently(answer: Dispatcher.ResponseData): Promise<object> {
  const text = await answer.body.text();
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

/** An error in one line. */
export const describe = (error: unknown): string =>
  error instanceof ProblemError
    ? `${error.status} ${error.code ?? ""} ${error.message}`
    : ((error as Error).message ?? String(error)) || String((error as { code?: string }).code);
