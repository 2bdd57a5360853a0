/** The tokens with which a job signs in to its cloud. What they say is part of users' policies. */
import { SignJWT } from "jose";
import { v7 as uuid } from "uuid";
import { isIssued } from "../../../protocol/identity-kinds.ts";
import type {
  IdentityToken,
  RequestIdentityToken,
  TokenPhase,
} from "../../../protocol/identity-tokens.ts";
import { minute, second } from "../../../common/units.ts";
import {
  audienceOf,
  hasSessionTags,
  subjectFormOf,
  type UsedIdentity,
} from "../../domain/cloud-identity.ts";
import { hasEnded, isHeld, type JobRow } from "../../domain/job.ts";
import { time } from "../../domain/moments.ts";
import { isAddress } from "../../domain/oidc-claims.ts";
import { notFound, RefusalError } from "../../domain/refusal.ts";
import { isTooLong, subjectOf } from "../../domain/token-subject.ts";
import { findCountedApprovers } from "../../store/approvals/approvals.ts";
import type { Queries } from "../../store/db.ts";
import { addFact, findFact, issuedSlug } from "../../store/facts.ts";
import { findTokenFacts, lockTeam, type TokenFacts } from "../../store/identities/token-facts.ts";
import { findLock } from "../../store/states/states.ts";
import type { WorkerCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { findFenced } from "../job-changes/holder.ts";
import { findBriefSummary } from "../plans/read-summary.ts";
import { refusalLimits } from "../refusal-limit.ts";
import { currentKey } from "./keys.ts";

export const lifetime = 10 * minute;
/** Of one job at one control plane in a minute: an apply of many providers asks a few times. */
export const tokensLimit = 60;
const limits = refusalLimits(tokensLimit, { counted: "tokens for this job" });

export async function createIdentityToken(
  context: Context,
  worker: WorkerCaller,
  id: string,
  attempt: number | undefined,
  { audience, phase }: RequestIdentityToken,
): Promise<IdentityToken> {
  const { read } = context.store;
  const job = await findFenced(read, worker, id, attempt);
  const limit = limits.of(job.id);
  limit.check();
  limit.count();
  if (hasEnded(job) && !(await mayStillSave(read, job)))
    throw new RefusalError("job_ended", `the job is ${job.status}`);
  const settings = settingsFor(job, audience);
  checkPhase(job, phase);
  const facts = await read.first(findTokenFacts, { job: job.id });
  if (!facts) throw notFound("configuration");
  const { team, owner_id } = facts;
  const known = team === null ? facts : { ...facts, team: await keepSlug(context, owner_id, team) };
  const sub = subjectOf(known, subjectFormOf(settings), phase);
  if (isTooLong(sub)) throw new RefusalError("subject_too_long", `the subject would be ${sub}`);
  const now = Math.floor(context.now() / second);
  const exp = now + lifetime / second;
  const tags = hasSessionTags(settings) ? sessionTags(job, known, phase) : {};
  const { kid, key } = await currentKey(context);
  const token = await new SignJWT({ ...(await claimsOf(read, job, known)), phase, ...tags })
    .setProtectedHeader({ alg: "RS256", kid, typ: "JWT" })
    .setIssuer(context.issuerUrl())
    .setSubject(sub)
    .setAudience(audience)
    .setIssuedAt(now)
    .setNotBefore(now)
    .setExpirationTime(exp)
    .setJti(uuid())
    .sign(key);
  context.wakeups.notify("identity_token", phase);
  return { token, expires_at: time(exp * second) };
}

/** A cancelled job that stops, or a lost one that has its lock: its state may be in a cloud. */
const mayStillSave = async (read: Queries, job: JobRow): Promise<boolean> =>
  isHeld(job) ||
  (job.spec_id !== null && (await read.first(findLock, { spec: job.spec_id }))?.job_id === job.id);

/** The settings of the identity that the job was claimed with. Throws 403 for another audience. */
function settingsFor({ identity_used }: JobRow, audience: string): string {
  const used = identity_used === null ? undefined : (JSON.parse(identity_used) as UsedIdentity);
  if (!used || !isIssued(used.provider) || used.settings === undefined)
    throw new RefusalError(
      "audience_not_allowed",
      "the job has no cloud identity that gets tokens of this server",
    );
  const { provider, settings } = used;
  if (audienceOf({ provider, settings }) !== audience)
    throw new RefusalError(
      "audience_not_allowed",
      "this is not the audience of the job's cloud identity",
    );
  return settings;
}

function checkPhase({ job_type, started_at }: JobRow, phase: TokenPhase): void {
  if (job_type === "PLAN" ? phase === "plan" : started_at !== null) return;
  throw new RefusalError(
    "phase_not_allowed",
    job_type === "PLAN"
      ? "a PLAN gets tokens of the phase plan only"
      : `the ${job_type} has not started: report PROCESSING first`,
  );
}

async function claimsOf(read: Queries, job: JobRow, facts: TokenFacts): Promise<object> {
  const { id, owner_id, spec_id, plan_job_id, attempt, job_type } = job;
  const { zone_id, pull_request } = facts;
  const source_commit = facts.commit_id ?? commitIn(facts.plan_metadata);
  const digest =
    plan_job_id === null ? undefined : (await findBriefSummary(read, plan_job_id))?.digest;
  const approvers = await read.all(findCountedApprovers, { job: id });
  return {
    space_id: owner_id,
    zone_id,
    configuration_id: spec_id,
    job_id: id,
    attempt,
    job_type,
    ...(source_commit === undefined ? {} : { source_commit }),
    ...(pull_request === null ? {} : { pull_request }),
    ...(digest === undefined ? {} : { plan_digest: digest }),
    approved_by: approvers.map(({ id: user, email }) =>
      // Anyone may have the name that stands in place of an address that is not verified.
      isAddress(email) ? email : `person:${user}`,
    ),
  };
}

/** The runner reported it, as anything. */
function commitIn(metadata: string | null): string | undefined {
  const { source_commit } = JSON.parse(metadata ?? "{}") as { source_commit?: unknown };
  return typeof source_commit === "string" && /^[0-9a-f]{40,64}$/.test(source_commit)
    ? source_commit
    : undefined;
}

/** Ids only: AWS refuses some characters that names may have. */
function sessionTags(
  { id, owner_id, spec_id, job_type }: JobRow,
  { zone_id }: TokenFacts,
  phase: TokenPhase,
): object {
  const principal_tags = {
    space_id: [owner_id],
    zone_id: [zone_id],
    configuration_id: [spec_id],
    job_id: [id],
    job_type: [job_type],
    phase: [phase],
  };
  return { "https://aws.amazon.com/tags": { principal_tags } };
}

/** Records that the slug of a team stands in a token, so that no other team ever gets it. */
async function keepSlug({ store }: Context, id: string, slug: string): Promise<string> {
  // The space that has it once keeps it.
  if ((await findFact(store.read, issuedSlug(slug))) === id) return slug;
  return store.write(async (tx) => {
    const team = await tx.first(lockTeam, { id });
    if (!team) throw notFound("team");
    await addFact(tx, issuedSlug(team.slug), id);
    return team.slug;
  });
}
