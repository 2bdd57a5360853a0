/** Logs what happens to jobs and workers: one line for each event. */
import type { JobEvent, WorkerEvent } from "../../wakeups/wakeups.ts";
import type { Context } from "../context.ts";
import { jobFactsOf } from "./job-facts.ts";

export interface EventLog {
  readonly level: string;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** The levels at which a line of `info` is written. */
const writing = new Set(["trace", "debug", "info"]);

export function logEvents({ store, wakeups }: Pick<Context, "store" | "wakeups">, log: EventLog) {
  const jobFacts = jobFactsOf(store);
  wakeups.listen("job_event", (event) => {
    // A line that is not written needs no names.
    if (!writing.has(log.level)) return;
    jobLine(event).then(
      (fields) => log.info(fields, `job ${event.what}`),
      // The store is closed already, or fails: what is known is logged.
      () => log.info(knownOf(event), `job ${event.what}`),
    );
  });
  wakeups.listen("worker_event", ({ what, id, name, by }: WorkerEvent) => {
    const fields = { worker: name, worker_id: id, ...(by === undefined ? {} : { by }) };
    if (what === "offline") log.warn(fields, `worker ${what}`);
    else log.info(fields, `worker ${what}`);
  });

  async function jobLine(event: JobEvent): Promise<object> {
    const facts = await jobFacts(event.id);
    if (!facts) return knownOf(event);
    const { configuration, worker, created_by, created_at, claimed_at, started_at, ended_at } =
      facts;
    const { what, by = created_by } = event;
    // It may have been claimed since.
    const isQueued = what === "queued" || what === "queued again";
    const hasRun = what === "ended" || what === "reported late";
    return {
      ...knownOf(event),
      configuration,
      by,
      ...(worker === null || isQueued ? {} : { worker }),
      ...(what === "claimed" ? { waited_seconds: secondsOf(created_at, claimed_at) } : {}),
      ...(hasRun ? { seconds: secondsOf(started_at, ended_at) } : {}),
    };
  }
}

const knownOf = ({ id, job_type, status }: JobEvent) => ({ job: id, type: job_type, status });

const secondsOf = (from: number | null, to: number | null): number | null =>
  from === null || to === null ? null : Math.max(0, to - from) / 1000;
