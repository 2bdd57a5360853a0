/** Tells the server that the agent is alive, and learns which jobs are cancelled. Stops last. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { waitSecondsLimit } from "../protocol/limits.ts";
import type { Heartbeat } from "../protocol/workers.ts";
import { ProblemError } from "../protocol/transport.ts";
import type { AgentApi } from "./api/api.ts";

export interface HeartbeatLoop {
  readonly api: Pick<AgentApi, "heartbeat">;
  readonly log: Pick<Logger, "warn">;
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

/** The pause after a heartbeat that returned at once: a cancel is known within two seconds. */
const shortPause = 1000;

/** While the agent holds jobs, one request stays open, so that it learns of a cancel at once. */
export async function heartbeatLoop(loop: HeartbeatLoop): Promise<void> {
  const { api, log, stop } = loop;
  let interval = loop.interval;
  let reportsCancels = false;
  while (!stop.aborted) {
    // Before the jobs are read: one may start while the server answers.
    const changed = loop.jobsChanged();
    const asked = performance.now();
    let holdsJobs = false;
    let pause = interval * 1000;
    try {
      const body = loop.body();
      holdsJobs = (body.active_job_ids ?? []).length > 0;
      const wait = holdsJobs && reportsCancels ? Math.min(waitSecondsLimit, interval) : 0;
      const answer = await api.heartbeat(body, wait, stop);
      loop.onAccepted();
      const seconds = answer.heartbeat_interval_seconds;
      if (typeof seconds === "number" && seconds > 0) interval = seconds;
      reportsCancels = Array.isArray(answer.cancelled_job_ids);
      if (reportsCancels) loop.onCancelled(answer.cancelled_job_ids ?? []);
      // The next heartbeat stays open, and also reports that the agent is alive.
      pause = reportsCancels && holdsJobs ? shortPause : interval * 1000;
    } catch (error) {
      if (stop.aborted) return;
      const inUse = error instanceof ProblemError && error.code === "identity_in_use";
      log.warn(
        { error: (error as Error).message },
        inUse
          ? "another agent uses this identity; waiting for it to end"
          : "the heartbeat was refused",
      );
    }
    const rest = Math.max(0, pause - (performance.now() - asked));
    await Promise.race([
      sleep(rest, undefined, { signal: stop }).catch(() => undefined),
      ...(holdsJobs ? [] : [changed]),
    ]);
  }
}
