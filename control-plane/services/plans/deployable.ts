/** Whether a plan can be deployed: once, and only while nothing has changed since it was made. */
import { isDeepStrictEqual } from "node:util";
import type { CreateJob } from "../../../protocol/jobs.ts";
import type { JobRow } from "../../domain/job.ts";
import { invalid, notFound, RefusalError } from "../../domain/refusal.ts";
import type { Queries } from "../../store/db.ts";
import { findFact, restoredAt } from "../../store/facts.ts";
import { findOwnJob, findUseOfPlan } from "../../store/jobs/jobs.ts";
import type { SpecRow } from "../../store/configurations/configurations.ts";
import type { UsedIdentity } from "../../domain/cloud-identity.ts";
import { findUsedIdentity } from "../../store/identities/identities.ts";
import { findArtifact } from "../../store/storage/job-files.ts";
import type { Context } from "../context.ts";
import { findState } from "../../store/states/states.ts";

/** What says whether retention may have removed a plan artifact. */
type Keeping = Pick<Context, "now" | "retention">;

/** Throws unless the plan can be deployed, apart from its hash. */
export async function checkPlan(
  context: Keeping,
  tx: Queries,
  owner: string,
  request: CreateJob,
  spec: Pick<SpecRow, "cloud_identity_id" | "labels">,
): Promise<JobRow> {
  const { job_type, configuration_id, plan_job_id } = request;
  if (job_type !== "DEPLOY") throw invalid("body.plan_job_id", "can be set only for a DEPLOY");
  const id = plan_job_id ?? "";
  const plan = await tx.first(findOwnJob, { id, owner });
  if (!plan) throw notFound("plan job");
  if (plan.job_type !== "PLAN" || plan.spec_id !== configuration_id)
    throw new RefusalError("invalid_plan", "plan_job_id must be a PLAN of the same configuration");
  if (plan.status !== "SUCCESS")
    throw new RefusalError(
      "invalid_plan",
      "the PLAN has not ended in SUCCESS with changes to deploy",
    );
  const use = await tx.first(findUseOfPlan, { plan: id });
  if (use)
    throw new RefusalError(
      "plan_already_used",
      `The plan was already deployed, by the job ${use.id}`,
    );
  await checkFresh(context, tx, plan);
  if (spec.cloud_identity_id !== plan.cloud_identity_id)
    throw new RefusalError(
      "plan_is_stale",
      "The configuration has another cloud identity than when the plan was made, so plan again",
    );
  if (spec.cloud_identity_id === null) checkPlacement(plan, request, labelsFor(request, spec));
  return plan;
}

/** Returns the labels that a job of `spec` requires of its worker, JSON. */
export const labelsFor = (
  { labels }: Pick<CreateJob, "labels">,
  spec: Pick<SpecRow, "labels"> | null,
): string => (labels ? JSON.stringify(labels) : (spec?.labels ?? "[]"));

/**
 * Throws if other workers may run the deployment than may have made the plan. Without a cloud identity
 * terraform uses the worker's own credentials, so the worker decides the role.
 */
function checkPlacement(
  plan: JobRow,
  { assigned_worker_id = null }: Pick<CreateJob, "assigned_worker_id">,
  labels: string,
): void {
  const [then, now] = [plan.labels, labels].map(
    (json) => new Set(JSON.parse(json) as readonly string[]),
  );
  if (isDeepStrictEqual(then, now) && plan.assigned_worker_id === assigned_worker_id) return;
  throw new RefusalError(
    "plan_is_stale",
    "The deployment requires other labels or another worker than the plan did, and without a cloud identity the worker's own role decides what it may change, so plan again",
  );
}

/** Throws without an artifact, or if state or identity may have changed since the plan. */
export async function checkFresh(
  { now, retention }: Keeping,
  tx: Queries,
  plan: JobRow,
): Promise<void> {
  await checkIdentity(tx, plan);
  if (!(await tx.first(findArtifact, { job: plan.id }))) {
    const isOld = (plan.ended_at ?? 0) < now() - retention.artifacts;
    const why = isOld ? "retention has removed its plan artifact" : "it has no plan artifact";
    throw new RefusalError("invalid_plan", `the PLAN cannot be deployed: ${why}. Plan again`);
  }
  // What was deployed since the backup is not known, and the restored state may be outdated.
  const ended = plan.ended_at ?? 0;
  if (ended < Number((await findFact(tx, restoredAt)) ?? 0))
    throw new RefusalError(
      "plan_is_stale",
      "The server was restored from a backup after the plan was made, so plan again",
    );
  // Terraform refuses a plan of another state. A plan in an own backend does not lock the state here,
  // so a user can store one while it runs.
  const state = await tx.first(findState, { spec: plan.spec_id ?? "" });
  if (state && state.job_id !== plan.id && state.created_at > (plan.started_at ?? ended))
    throw new RefusalError(
      "plan_is_stale",
      `The state was changed after the plan was started (its serial is ${state.serial} now), so plan again`,
    );
}

/** What people approved was planned as one role, and must not be applied as another one. */
async function checkIdentity(tx: Queries, plan: JobRow): Promise<void> {
  if (plan.cloud_identity_id === null) return;
  const now = await tx.first(findUsedIdentity, { id: plan.cloud_identity_id });
  const used = JSON.parse(plan.identity_used ?? "{}") as Partial<UsedIdentity>;
  const { plan_role_arn: _, settings = null, ...same } = used;
  const then = { ...same, settings };
  if (isDeepStrictEqual({ ...now }, then)) return;
  throw new RefusalError(
    "plan_is_stale",
    `The cloud identity was changed after the plan was made (its role was ${then.role_arn ?? "not recorded"}, and is ${now?.role_arn ?? "gone"}), so plan again`,
  );
}

export function checkHash(plan: JobRow, hash: string): void {
  if (plan.config_hash !== hash)
    throw new RefusalError(
      "plan_is_stale",
      "The configuration or one of its variable sets was changed after the plan was made, so plan again",
    );
}
