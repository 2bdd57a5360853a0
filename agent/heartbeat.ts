/** Tells the server that the agent is alive, and learns which of its jobs are cancelled. The last loop to stop. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { Heartbeat } from "../protocol/workers.ts";
import { ProblemError } from "../protocol/transport.ts";
import type { AgentApi } from "./api/api.ts";

export interface HeartbeatLoop {
  readonly api: AgentApi;
  readonly log: Logger;
  /** Until the server names another interval. */
  readonly interval: number;
  readonly stop: AbortSignal;
  body(): Heartbeat;
  /** Resolves when the set of jobs changes: a heartbeat that waits for cancels has to start. */
  jobsChanged(): Promise<void>;
  onCancelled(jobIds: readonly string[]): void;
  /** The server has accepted the identity. */
  onAccepted(): void;
}

/** Longest time that a request is left open. */
const waitSeconds = 30;
/** Between two answers that come at once, while jobs are held: a cancel is heard within two seconds. */
const shortPause = 1000;

/** Says that the agent lives, until told to stop; while it holds jobs, one request stays open to hear of cancels. */
export async function heartbeatLoop(loop: HeartbeatLoop): Promise<void> {
  const { api, log, stop } = loop;
  let interval = loop.interval;
  let reportsCancels = false;
  while (!stop.aborted) {
    const body = loop.body();
    const holdsJobs = (body.active_job_ids ?? []).length > 0;
    const wait = holdsJobs && reportsCancels ? Math.min(waitSeconds, interval) : 0;
    const asked = performance.now();
    let pause = interval * 1000;
    try {
      const answer = await api.heartbeat(body, wait, stop);
      loop.onAccepted();
      const seconds = answer.heartbeat_interval_seconds;
      if (typeof seconds === "number" && seconds > 0) interval = seconds;
      reportsCancels = Array.isArray(answer.cancelled_job_ids);
      if (reportsCancels) loop.onCancelled(answer.cancelled_job_ids ?? []);
      // The next one stays open and is the next heartbeat at the same time.
      pause = reportsCancels && holdsJobs ? shortPause : interval * 1000;
    } catch (error) {
      if (stop.aborted) return;
      const inUse = error instanceof ProblemError && error.code === "identity_in_use";
      log.warn(
        { error: (error as Error).message },
        inUse
          ? "another agent runs with this identity; waiting for it to end"
          : "the heartbeat was refused",
      );
    }
    const rest = Math.max(0, pause - (performance.now() - asked));
    await Promise.race([
      sleep(rest, undefined, { signal: stop }).catch(() => undefined),
      ...(holdsJobs ? [] : [loop.jobsChanged()]),
    ]);
  }
}
