/** Repeats posts until each is acknowledged or refused for good, or the log is closed. */
import { setTimeout as sleep } from "node:timers/promises";
import type { SequencedChunk } from "../../protocol/executions.ts";
import type { JobStatus } from "../../protocol/jobs.ts";
import { ProblemError } from "../../protocol/transport.ts";
import { backoff, type BackoffLimits } from "../../common/backoff.ts";
import { sortFailure } from "../api/failures.ts";

/** The receiver of chunks, declared here by its user; `agent/api/job-calls.ts` implements it. */
export interface LogSink {
  /** Makes one attempt. Throws ProblemError if the server refuses, else a network error. */
  appendLogs(chunks: SequencedChunk[], signal: AbortSignal): Promise<{ job_status: JobStatus }>;
}

export type Post = readonly SequencedChunk[];

export interface DeliveryOptions {
  readonly sink: LogSink;
  readonly retry: BackoffLimits;
  /** The time that a response may take, in milliseconds; then the post is repeated. */
  readonly patience: number;
  /** Stops everything. */
  readonly closed: AbortSignal;
  /** Returns chunks of these numbers again, for a server that has lost them. */
  recall(first: number, last: number): Iterable<Post>;
  onAnswer(post: Post, status: Awaited<ReturnType<LogSink["appendLogs"]>>): void;
}

/**
 * Rejects if the server refuses the post for good or the log is closed. After a failure, the post
 * `before` goes first, because the server accepts chunks only in order.
 */
export async function deliver(
  post: Post,
  before: Promise<void>,
  options: DeliveryOptions,
): Promise<void> {
  let isAlone = false;
  before.then(
    () => (isAlone = true),
    () => undefined,
  );
  for (let tries = 1; ; tries++) {
    try {
      options.onAnswer(post, await attempt(post, options));
      return;
    } catch (error) {
      options.closed.throwIfAborted();
      const gap = expectedSeq(error);
      const failure = sortFailure(error);
      if (gap === undefined && failure.kind === "give up") throw error;
      const wasAlone = isAlone;
      await before;
      if (gap !== undefined && !wasAlone) continue;
      // No earlier post is outstanding, so the gap is real: the server has lost chunks that it had
      // acknowledged.
      const first = post[0]?.seq ?? 0;
      if (gap !== undefined && gap < first)
        for (const lost of options.recall(gap, first - 1))
          await deliver(lost, Promise.resolve(), options);
      const wish = failure.kind === "retry" ? failure.after : 0;
      const delay = backoff(tries, Math.random(), wish, options.retry);
      await sleep(delay, undefined, { signal: options.closed });
    }
  }
}

async function attempt(
  post: Post,
  { sink, patience, closed }: DeliveryOptions,
): ReturnType<LogSink["appendLogs"]> {
  const controller = new AbortController();
  const abort = (): void => controller.abort(closed.reason);
  closed.throwIfAborted();
  closed.addEventListener("abort", abort, { once: true });
  const timer = setTimeout(
    () => controller.abort(new Error(`the server did not respond within ${patience} ms`)),
    patience,
  );
  try {
    return await sink.appendLogs([...post], controller.signal);
  } finally {
    clearTimeout(timer);
    closed.removeEventListener("abort", abort);
  }
}

function expectedSeq(error: unknown): number | undefined {
  if (!(error instanceof ProblemError) || error.code !== "log_gap") return undefined;
  const { expected_seq: expected } = error.problem;
  return typeof expected === "number" && expected > 0 ? expected : undefined;
}
