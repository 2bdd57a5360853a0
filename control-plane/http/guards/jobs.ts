/**
 * Job tokens: what terraform shows for the state of its job's spec, and for nothing else. They are derived from the job and its attempt,
 * not stored.
 */
import type { FastifyRequest } from "fastify";
import { isHeld, type JobRow } from "../../domain/job.ts";
import { equalSecrets } from "../../domain/tokens.ts";
import { RefusalError } from "../../domain/refusal.ts";
import type { Guard } from "../route.ts";
import type { Context } from "../../services/context.ts";
import type { Queries } from "../../store/db.ts";
import { findJob } from "../../store/jobs/jobs.ts";
import { findLock, findState } from "../../store/states/states.ts";
import type { JobCaller } from "../../services/callers.ts";

/** The token of one handing-out of a job. */
export const jobToken = ({ box }: Pick<Context, "box">, job: string, attempt: number): string =>
  `wlj_${box("job-token").sign(`${job}:${attempt}`)}`;

/** Also those that were given out before a change of WINDLASS_SECRET_KEY: their jobs may still run. */
const jobTokens = ({ box }: Pick<Context, "box">, job: string, attempt: number): string[] =>
  box("job-token")
    .signatures(`${job}:${attempt}`)
    .map((signature) => `wlj_${signature}`);

/** Lets in HTTP Basic with a job's id and token, for the state of that job's spec, as long as the job may write it. */
export function jobGuard(context: Context): Guard<JobCaller> {
  return async (request) => {
    const { user, password } = basicOf(request);
    const job = await context.store.read.first(findJob, { id: user });
    // Also compared when there is no such job, so that both refusals take the same time.
    const isToken = jobTokens(context, user, job?.attempt ?? 0).some((token) =>
      equalSecrets(password, token),
    );
    const { spec_id: spec } = request.params as { spec_id: string };
    if (!job || !isToken || job.spec_id !== spec) throw unauthenticated();
    const caller = { job_id: job.id, attempt: job.attempt, spec_id: spec, owner_id: job.owner_id };
    // A state that a lost job has saved and unlocked is still to be read for the outputs of its late report.
    if (request.method !== "GET" || !(await isItsOwnState(context.store.read, job)))
      await checkStillValid(context.store.read, caller);
    return caller;
  };
}

/** Nobody has changed the state since the lost job saved it. */
async function isItsOwnState(queries: Queries, job: JobRow): Promise<boolean> {
  if (job.spec_id === null || job.presumed_lost_at === null) return false;
  return (await queries.first(findState, { spec: job.spec_id }))?.job_id === job.id;
}

/**
 * Refuses a token whose job has been released or given to another attempt. One exception: a job that was lost keeps its lock
 * (docs/decisions.md, "Release"), and while it has the lock, it may save what it did.
 */
export async function checkStillValid(queries: Queries, caller: JobCaller): Promise<void> {
  const job = await queries.first(findJob, { id: caller.job_id });
  if (!job || job.worker_id === null || job.attempt !== caller.attempt) throw unauthenticated();
  if (isHeld(job)) return;
  const lock = await queries.first(findLock, { spec: caller.spec_id });
  if (lock?.job_id !== job.id) throw unauthenticated();
}

function basicOf({ headers }: FastifyRequest): { user: string; password: string } {
  const encoded = /^basic +([A-Za-z0-9+/]{1,1000}={0,2})$/i.exec(headers.authorization ?? "")?.[1];
  const bytes = Buffer.from(encoded ?? "", "base64");
  const [, user, password] = /^([^:]*):(.*)$/s.exec(bytes.toString()) ?? [];
  // The decoder passes over what is too much: a changed header is not the same credential.
  if (user === undefined || password === undefined || bytes.toString("base64") !== encoded)
    throw unauthenticated();
  return { user: user.toLowerCase(), password };
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
