/**
 * The state changes of a job, as pure functions: from a job and what happens to the job after it,
 * or a refusal.
 *
 * A job is QUEUED (no holder) → PROCESSING (claimed; `worker_id` holds it) → SUCCESS, FAILED or
 * CANCELLED (ended). What must hold:
 * - `started_at` is the line between "may be handed out again" and "never runs twice": a started
 *   job never becomes QUEUED.
 * - `released_at` says that nothing of the job can be running any more as far as the server is
 *   concerned. A claimed job that is not released occupies its spec, even when it is CANCELLED.
 * - Only the holder's reports decide how a job ended, even late: a SUCCESS after a cancel or a
 *   presumed loss is what happened. The reasons: docs/decisions.md, "Jobs".
 */
import type { ConfigurationStatus } from "../../protocol/configurations.ts";
import type { JobStatus, JobType } from "../../protocol/jobs.ts";
import { RefusalError } from "./refusal.ts";
import { minute } from "../../common/units.ts";

/** Times are epoch milliseconds; labels, features and execution metadata are JSON. */
export interface JobRow {
  id: string;
  owner_id: string;
  job_type: JobType;
  status: JobStatus;
  spec_id: string | null;
  zone_id: string | null;
  cloud_identity_id: string | null;
  /** The fields of that identity when the job was claimed, JSON; null before, and without one. */
  identity_used: string | null;
  /** As asked for at creation. */
  assigned_worker_id: string | null;
  /** The holder; null while queued, kept after the end. */
  worker_id: string | null;
  plan_job_id: string | null;
  /** 1 for a PLAN that destroys everything, and for the DEPLOY of such a plan. */
  destroys: 0 | 1;
  labels: string;
  /** Required features of a runner, `debug` if its debug log is kept; fixed like its snapshot. */
  features: string;
  config_hash: string | null;
  timeout_seconds: number;
  /** The name of the person who created it, as in the audit log. */
  created_by: string | null;
  /**
   * The id of that person; of a job of an access token, of the person who created the token; of a
   * schedule, of the person who changed it last.
   */
  creator_id: string | null;
  /** 1 for a PLAN that only finds out whether what is deployed has drifted. */
  drift_check: 0 | 1;
  /** The schedule that queued it. */
  schedule_id: string | null;
  /** 0: of people and access tokens; 1: of connections; 2: of schedules. */
  queue_class: 0 | 1 | 2;
  /** 0 if known to delete and replace nothing: a DEPLOY whose complete plan summary says so. */
  destructive: 0 | 1;
  /** 1 while it waits for approvals (store/approvals/approvals.ts). */
  unapproved: 0 | 1;
  /** Grows with every claim. */
  attempt: number;
  claim_key: string | null;
  created_at: number;
  claimed_at: number | null;
  started_at: number | null;
  cancelled_at: number | null;
  /** The name of the user who cancelled it, as in the audit log; null after a rejection. */
  cancelled_by: string | null;
  /** When the last decision was made about how it ended: a cancel, a presumed loss or a report. */
  ended_at: number | null;
  released_at: number | null;
  /** When a heartbeat first listed its active jobs without this one. */
  omitted_at: number | null;
  /** When its runner was found lost; null again once that runner has reported how the job ended. */
  presumed_lost_at: number | null;
  /** 1 if its effect is unknown: the runner was lost or could not say, or after a restore. */
  outcome_unknown: 0 | 1;
  /** What the spec's status was before this job changed it: a cancel goes back to it. */
  spec_status_before: ConfigurationStatus | null;
  error_message: string | null;
  /** `JobFailure` as JSON; null if the runner has not reported it. */
  failure: string | null;
  execution_metadata: string | null;
  /** How many checks fail of what succeeded; null if its runner did not tell it. */
  failed_checks: number | null;
  /** From the end report; `log_complete` is derived from it. */
  last_seq: number | null;
  log_pruned_at: number | null;
}

/** State changes may change these columns; the rest is fixed when the job is created. */
export type JobState = Pick<
  JobRow,
  | "status"
  | "worker_id"
  | "claim_key"
  | "claimed_at"
  | "started_at"
  | "cancelled_at"
  | "cancelled_by"
  | "ended_at"
  | "released_at"
  | "omitted_at"
  | "presumed_lost_at"
  | "outcome_unknown"
  | "error_message"
  | "failure"
  | "execution_metadata"
  | "failed_checks"
  | "last_seq"
>;

/** The values of every job before it is claimed for the first time. */
export const newlyQueued = {
  status: "QUEUED",
  created_by: null,
  creator_id: null,
  drift_check: 0,
  schedule_id: null,
  queue_class: 0,
  destructive: 1,
  unapproved: 0,
  worker_id: null,
  identity_used: null,
  attempt: 0,
  claim_key: null,
  claimed_at: null,
  started_at: null,
  cancelled_at: null,
  cancelled_by: null,
  ended_at: null,
  released_at: null,
  omitted_at: null,
  presumed_lost_at: null,
  outcome_unknown: 0,
  destroys: 0,
  spec_status_before: null,
  error_message: null,
  failure: null,
  execution_metadata: null,
  failed_checks: null,
  last_seq: null,
  log_pruned_at: null,
} as const satisfies Partial<JobRow>;

/** The message of a lost job; `presumed_lost_at` records that it was lost. */
export const lostMessage = "runner lost, outcome unknown";

/** Longer than the apply grace of an agent (10 minutes). */
export const unansweredCancelMilliseconds = 15 * minute;

/** SUCCESS, FAILED or CANCELLED. */
export const hasEnded = ({ status }: Pick<JobState, "status">): boolean =>
  status !== "QUEUED" && status !== "PROCESSING";

/** Claimed and not released: it occupies its spec and its token works. */
export const isHeld = ({ worker_id, released_at }: Pick<JobState, "worker_id" | "released_at">) =>
  worker_id !== null && released_at === null;

/** Whether nothing is deployed after the job. */
export const isDestruction = ({ job_type, destroys }: Pick<JobRow, "job_type" | "destroys">) =>
  job_type === "DESTROY" || (job_type === "DEPLOY" && destroys === 1);

/** Whether terraform's debug log is requested: the job needs a runner that supports it. */
export const hasDebug = ({ features }: Pick<JobRow, "features">): boolean =>
  (JSON.parse(features) as string[]).includes("debug");

/** Throws unless this worker (and attempt, if it names one) holds the job or held it last. */
export function fence(
  job: Pick<JobRow, "worker_id" | "attempt">,
  workerId: string,
  attempt: number | undefined,
): void {
  if (job.worker_id !== workerId || (attempt !== undefined && attempt !== job.attempt))
    throw new RefusalError("not_job_holder");
}

/** The first sign of work: PROCESSING report, log post, plan upload, LOCK or POST of its state. */
export function start<J extends JobState>(job: J, now: number): J {
  return job.started_at === null && !hasEnded(job) ? { ...job, started_at: now } : job;
}

/** Refused if the job has ended: the runner must not start anything. */
export function reportProcessing<J extends JobState>(job: J, now: number): J {
  if (hasEnded(job)) throw new RefusalError("job_ended", `the job is ${job.status}`);
  return start(job, now);
}

export interface End {
  readonly status: Extract<JobStatus, "SUCCESS" | "FAILED" | "CANCELLED">;
  readonly error_message: string | null;
  /** JSON. */
  readonly failure: string | null;
  /** JSON. */
  readonly execution_metadata: string | null;
  readonly failed_checks: number | null;
  readonly last_seq: number | null;
  /** 1 if the runner cannot say what it did. */
  readonly outcome_unknown: 0 | 1;
}

/** The holder's report replaces what the server presumed. Repeating it changes nothing. */
export function reportEnd<J extends JobState>(job: J, end: End, now: number): J {
  const isRepeated =
    job.status === end.status &&
    job.released_at !== null &&
    job.presumed_lost_at === null &&
    job.outcome_unknown === end.outcome_unknown &&
    job.error_message === end.error_message &&
    job.failure === end.failure &&
    job.execution_metadata === end.execution_metadata &&
    job.last_seq === end.last_seq;
  if (isRepeated) return job;
  return {
    ...job,
    ...end,
    started_at: job.started_at ?? now,
    // A SUCCESS was never presumed, and the age of a plan counts from its first report.
    ended_at: job.status === "SUCCESS" && end.status === "SUCCESS" ? (job.ended_at ?? now) : now,
    released_at: job.released_at ?? now,
    presumed_lost_at: null,
  };
}

/** `by` is null for a rejection. A started job stays held until its runner responds. */
export function cancel<J extends JobState>(job: J, by: string | null, now: number): J {
  if (hasEnded(job)) throw new RefusalError("job_ended", `the job is already ${job.status}`);
  return {
    ...job,
    status: "CANCELLED",
    cancelled_at: now,
    cancelled_by: by,
    ended_at: now,
    released_at: job.started_at === null ? now : null,
  };
}

/** A job that was not started is queued again; a started one is never repeated. */
export function lose<J extends JobState>(job: J, now: number): J {
  if (!isHeld(job)) return job;
  if (job.status === "PROCESSING" && job.started_at === null)
    return {
      ...job,
      status: "QUEUED",
      worker_id: null,
      claim_key: null,
      claimed_at: null,
      omitted_at: null,
    };
  const lost = { released_at: now, presumed_lost_at: now, outcome_unknown: 1 } as const;
  const decided = { ...job, ...lost, ended_at: now };
  return hasEnded(job) ? decided : { ...decided, status: "FAILED", error_message: lostMessage };
}

/** A job that was claimed and that no worker can run, for this reason. */
export const endUnstarted = <J extends JobState>(
  job: J,
  error_message: string,
  now: number,
): J => ({
  ...job,
  status: "FAILED",
  error_message,
  ended_at: now,
  released_at: now,
});

export const reject = <J extends JobState>(job: J, error_message: string, now: number): J => ({
  ...cancel(job, null, now),
  error_message,
});

/** A job that had not ended in the backup may have run since, so it is never given out again. */
export function outliveRestore<J extends JobState>(job: J, from: string, now: number): J {
  if (hasEnded(job)) return { ...job, released_at: job.released_at ?? now, outcome_unknown: 1 };
  return {
    ...job,
    status: "FAILED",
    outcome_unknown: 1,
    error_message: `outcome unknown: the server was restored from a backup of ${from}`,
    ended_at: now,
    released_at: now,
  };
}

/** After an unacknowledged cancel, terraform may still be running or may have been killed. */
export function releaseCancelled<J extends JobState>(job: J, now: number): J {
  const isDue =
    job.status === "CANCELLED" &&
    isHeld(job) &&
    job.cancelled_at !== null &&
    now - job.cancelled_at >= unansweredCancelMilliseconds;
  return isDue ? { ...job, released_at: now, outcome_unknown: 1 } : job;
}
