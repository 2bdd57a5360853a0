import type { JobProgress, LogStep } from "../../../protocol/jobs.ts";
import { hasEnded, type JobRow } from "../../domain/job.ts";
import type { Queries } from "../../store/db.ts";
import { findHighestSeq } from "../../store/logs/archives.ts";
import { viewWaiting } from "../claims/waiting-reason.ts";
import { findLastChunk, findStepEvents, readChunk } from "../../store/logs/logs.ts";
import type { Context } from "../context.ts";
import { markLimits } from "./archive-format.ts";
import { withArchived } from "./archives.ts";
import { time, timeOrNull } from "../../domain/moments.ts";
import { withoutControlSequences } from "../../../common/control-sequences.ts";

export interface JobStep {
  readonly name: string;
  /** The id of the log's chunk with which it starts. */
  readonly chunk: number;
  /** When the server received its start. */
  readonly started_at: string;
  /** Measured by the runner; null while the step runs. */
  readonly took_ms: number | null;
  /** By the server's clock, at the latest; null while the step runs. */
  readonly ended_at: string | null;
}

/** Characters of a line that are shown. */
const lineLength = 200;

/** Empty if the runner sends none, because it knows only the published interface. */
export async function findSteps(context: Context, job: string): Promise<JobStep[]> {
  const stored = await context.store.read.all(findStepEvents, { job, limit: markLimits.steps });
  const rows = await withArchived(context, job, "steps", stored);
  return stepsOf(rows.map((row) => ({ ...row, step: JSON.parse(row.step) as LogStep })));
}

/** Whether the runner has told that terraform began to apply. */
export const hasApplied = async (context: Context, job: string): Promise<boolean> =>
  (await findSteps(context, job)).some(({ name }) => name === "apply");

/** Pairs each start with the end of the same name that follows it. */
export function stepsOf(
  events: readonly { readonly id: number; readonly step: LogStep; readonly created_at: number }[],
): JobStep[] {
  const steps: JobStep[] = [];
  /** Index in `steps` of each that has not ended, and when it started by both clocks. */
  const open = new Map<string, { index: number; at: number; received: number }>();
  for (const { id, step, created_at } of events) {
    const { name, event } = step;
    const at = Date.parse(step.at);
    const started = open.get(name);
    if (event === "started") {
      open.set(name, { index: steps.length, at, received: created_at });
      steps.push({ name, chunk: id, started_at: time(created_at), took_ms: null, ended_at: null });
    } else if (started) {
      open.delete(name);
      const took_ms = Math.max(0, at - started.at);
      // Either may be late: what a runner sends after an interruption arrives at one moment.
      const ended_at = time(Math.min(created_at, started.received + took_ms));
      steps[started.index] = { ...(steps[started.index] as JobStep), took_ms, ended_at };
    }
  }
  return steps;
}

/** The last line of the log of a job that is not over; null while there is none. */
export async function findLastLine({ store }: Context, job: string): Promise<string | null> {
  const last = await store.read.first(findLastChunk, { job });
  const chunk = last && (await store.read.first(readChunk, { id: last.id }));
  return chunk ? (linesOf(chunk.log_chunk).at(-1)?.slice(0, lineLength) ?? null) : null;
}

const linesOf = (chunk: string): string[] =>
  withoutControlSequences(chunk)
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== "");

export async function viewProgress(context: Context, job: JobRow): Promise<JobProgress> {
  const queries = context.store.read;
  return {
    id: job.id,
    status: job.status,
    ...(await viewWaiting(context, queries, job)),
    log_complete: await logComplete(queries, job),
    log_pruned_at: timeOrNull(job.log_pruned_at),
  };
}

/** Null while the job runs, if the runner does not count, or if the log is pruned. */
export async function logComplete(queries: Queries, job: JobRow): Promise<boolean | null> {
  if (!hasEnded(job) || job.last_seq === null || job.log_pruned_at !== null) return null;
  if (job.last_seq === 0) return true;
  return (await findHighestSeq(queries, job.id)) >= job.last_seq;
}
