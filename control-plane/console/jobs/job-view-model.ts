import type { ApprovalRule } from "../../../protocol/approvals.ts";
import type { Answer } from "../../../protocol/endpoint.ts";
import type { endpoints } from "../../../protocol/endpoints.ts";
import type { Job } from "../../../protocol/jobs.ts";
import type { PlanSummary } from "../../../protocol/plan-summary.ts";
import type { Worker } from "../../../protocol/workers.ts";
import type { TerraformDiagnostic } from "../../../common/terraform-diagnostics.ts";
import type { MayDecide } from "../../services/approvals/may-decide.ts";
import type { JobStep } from "../../services/logs/progress.ts";
import type { Changes } from "../../services/logs/resources.ts";
import type { Cancel } from "../../services/jobs/views.ts";
import type { LogStart } from "../logs/log-view.ts";
import type { Form } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";

type PlanAnswer = Answer<typeof endpoints.getPlanSummary>;

export interface JobViewModel {
  readonly job: Job;
  /** The worker that holds the job or held it last; null if none did, or it was removed. */
  readonly worker: Worker | null;
  readonly plan: PlanSummary | null;
  /** What became of its plan, or of the plan that it applies. */
  readonly use: Pick<PlanAnswer, "deploy_job_id" | "not_deployable">;
  /** The job that deploys a PLAN which may leave changes out; null if there is none. */
  readonly deployment: Job | null;
  readonly log: LogStart;
  readonly errors: readonly TerraformDiagnostic[];
  readonly cancel: Cancel | null;
  /** What its runner did with terraform, as far as it said so. */
  readonly steps: readonly JobStep[];
  /** What terraform changed, as far as its runner said so. */
  readonly resources: Changes;
  /** The job that a retry of this one has queued already, and that is not over or deployed. */
  readonly retry: Job | null;
  /** The approval rule that its configuration has now. */
  readonly rule: ApprovalRule | null;
  /** Null: its reader has nothing to decide. */
  readonly mayDecide: MayDecide | null;
  /** The decision or other form that was refused, or empty. */
  readonly form: Form;
  readonly now: string;
}

export const nameOf = ({ config_snapshot, job_type }: Job): string =>
  config_snapshot?.name ?? (job_type === "DESTROY_WORKER" ? "a worker" : "a configuration");

export const linkOf = (job: Job): Html | string =>
  job.configuration_id === null
    ? nameOf(job)
    : html`<a href="/configurations/${job.configuration_id}">${nameOf(job)}</a>`;

/** Says that the runner of a running or cancelled job cannot be told to stop terraform now. */
export const offlineNote = ({ released_at }: Job, worker: Worker | null): Html | null =>
  released_at === null && worker?.status === "OFFLINE"
    ? html`Its runner <a href="/workers/${worker.id}">${worker.name}</a> is offline, so terraform
        may go on until the runner is back.`
    : null;
