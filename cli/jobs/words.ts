/** Jobs in words: what each is, and how it stands. */
import type { Job, JobStatus, JobType } from "../../protocol/jobs.ts";
import { styled } from "../terminal/output.ts";
import { duration } from "../terminal/times.ts";

const colours: Readonly<Record<JobStatus, Parameters<typeof styled>[0]>> = {
  QUEUED: "yellow",
  PROCESSING: "cyan",
  SUCCESS: "green",
  FAILED: "red",
  CANCELLED: "magenta",
};

/** The status in its colour. */
export const statusOf = (status: JobStatus): string => styled(colours[status], status);

/** How long it ran, or has run until now; undefined before its start. */
export function tookOf({ started_at, ended_at }: Job, now = Date.now()): string | undefined {
  if (started_at === null) return undefined;
  return duration((ended_at === null ? now : Date.parse(ended_at)) - Date.parse(started_at));
}

const verbs: Readonly<Record<JobType, string>> = {
  PLAN: "plan",
  DEPLOY: "deployment",
  DESTROY: "destruction",
  DESTROY_WORKER: "teardown",
};

/** Such as `plan of "network"`. */
export function nameOf(job: Job): string {
  const name = job.config_snapshot?.name;
  return name === undefined ? verbs[job.job_type] : `${verbs[job.job_type]} of "${name}"`;
}

const ends: Partial<Readonly<Record<JobStatus, string>>> = {
  SUCCESS: "succeeded",
  FAILED: "failed",
  CANCELLED: "was cancelled",
};

/** How it ended, in a sentence. */
export function endOf(job: Job): string {
  const took = tookOf(job);
  const time = took === undefined ? "" : ` after ${took}`;
  const why = job.error_message === null ? "" : `: ${job.error_message}`;
  return `The ${nameOf(job)} ${ends[job.status] ?? "goes on"}${time}${why}`;
}
