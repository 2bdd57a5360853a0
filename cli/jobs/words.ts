/** Jobs in words: what each is, how it stands, and why it waits. */
import type { Job, JobStatus, JobType, WaitingReason } from "../../protocol/jobs.ts";
import { styled } from "../output.ts";
import { duration } from "../times.ts";

/** Why a queued job does not run yet, and where there is something to do, what. */
export const waitingWords: Readonly<Record<WaitingReason, string>> = {
  waiting_for_worker: "waiting for a worker to be free",
  no_matching_worker: "no worker has its labels, or there is none: windlass workers list",
  no_worker_online: "no worker that may take it is online: windlass workers list",
  assigned_worker_offline: "the worker it is meant for is offline",
  assigned_worker_draining: "the worker it is meant for is draining",
  configuration_busy: "another job of this configuration runs",
  state_locked: "the state is locked by a job that was lost: windlass state unlock",
  worker_in_use: "the worker to tear down still holds a job",
};

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
