/** Terraform's credential for its job's state only; derived from job and attempt, not stored. */
import { isHeld, type JobRow } from "../../domain/job.ts";
import { RefusalError } from "../../domain/refusal.ts";
import { equalSecrets } from "../../../common/equal-secrets.ts";
import type { Queries } from "../../store/db.ts";
import { findJob } from "../../store/jobs/jobs.ts";
import { findLock, findState } from "../../store/states/states.ts";
import type { JobCaller } from "../callers.ts";
import type { Context } from "../context.ts";

export const jobToken = ({ box }: Pick<Context, "box">, job: string, attempt: number): string =>
  `wlj_${box("job-token").sign(`${job}:${attempt}`)}`;

/** Includes those of earlier values of WINDLASS_SECRET_KEY: their jobs may still run. */
const jobTokens = ({ box }: Pick<Context, "box">, job: string, attempt: number): string[] =>
  box("job-token")
    .signatures(`${job}:${attempt}`)
    .map((signature) => `wlj_${signature}`);

export interface JobCredential {
  readonly job: string;
  readonly token: string;
}

/** Valid as long as the job may write the state. Throws 401. */
export async function checkJobToken(
  context: Pick<Context, "store" | "box">,
  credential: JobCredential | undefined,
  spec: string,
  isRead: boolean,
): Promise<JobCaller> {
  if (!credential) throw unauthenticated();
  const { read } = context.store;
  const job = await read.first(findJob, { id: credential.job });
  // Also compared if there is no such job, so that both refusals take the same time.
  const isToken = jobTokens(context, credential.job, job?.attempt ?? 0).some((token) =>
    equalSecrets(credential.token, token),
  );
  if (!job || !isToken || job.spec_id !== spec) throw unauthenticated();
  const caller = { job_id: job.id, attempt: job.attempt, spec_id: spec, owner_id: job.owner_id };
  // After a job that was lost, or running at a restore, has saved and unlocked its state, it may still
  // read the outputs for its late report.
  if (!isRead || !(await isItsOwnState(read, job))) await checkStillValid(read, caller);
  return caller;
}

/** The state has not changed since the job saved it, whose end is not known yet. */
async function isItsOwnState(queries: Queries, job: JobRow): Promise<boolean> {
  if (job.spec_id === null || job.outcome_unknown === 0) return false;
  return (await queries.first(findState, { spec: job.spec_id }))?.job_id === job.id;
}

/**
 * Returns the job of a token. Refuses one whose job has been released or given to another attempt.
 * One exception: a job that was lost keeps its lock (docs/decisions.md, "Release"), and while it has
 * the lock, it may save what it did.
 */
export async function checkStillValid(queries: Queries, caller: JobCaller): Promise<JobRow> {
  const job = await queries.first(findJob, { id: caller.job_id });
  if (!job || job.worker_id === null || job.attempt !== caller.attempt) throw unauthenticated();
  if (isHeld(job)) return job;
  const lock = await queries.first(findLock, { spec: caller.spec_id });
  if (lock?.job_id !== job.id) throw unauthenticated();
  return job;
}

const unauthenticated = (): RefusalError =>
  new RefusalError(
    "unauthenticated",
    "the state needs the id and the token of a running job",
    {},
    {
      "www-authenticate": 'Basic realm="windlass state", charset="UTF-8"',
    },
  );
