/** The buttons on the page of a job: deploy its plan, cancel it, run it again. */
import type { Job } from "../../../protocol/jobs.ts";
import { destroysText, jobTypeWords } from "../../../protocol/words.ts";
import { permissionForJob } from "../../domain/roles.ts";
import { ruleOfPlan, waitsForApproval } from "../approvals/approval-view.ts";
import { planForApproval } from "../approvals/plan-first.ts";
import { ask, debugTick, sentence } from "../page/fields.ts";
import { Form } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { badge, isOpen } from "../page/words.ts";
import { planButton } from "../plans/plan-options.ts";
import { linkOf, offlineNote, type JobViewModel } from "./job-view-model.ts";

export const buttonsOf = (model: JobViewModel): Html => {
  const { job, plan, rule, retry, mayDecide } = model;
  const { status, job_type, plan_job_id, configuration_id } = job;
  const isOver = status === "FAILED" || status === "CANCELLED";
  const isDirect = (job_type === "DEPLOY" && plan_job_id === null) || job_type === "DESTROY";
  const again =
    isDirect && rule !== null && configuration_id !== null
      ? planForApproval(configuration_id, job_type === "DESTROY")
      : againOf(job);
  const destroys = plan === null ? "" : destroysText(plan.counts);
  return html`<div class="actions">
    ${
      isDeployable(model)
        ? action(
            job,
            "deploy",
            destroys === "" ? "Deploy this plan" : `Deploy this plan (${destroys})`,
            destroys === "" ? "" : "danger",
            debugTick(new Form()),
          )
        : null
    }
    ${waitsForApproval(job) && mayDecide && !mayDecide.refusals.reject ? html`<a class="button" href="#approval-title">Review</a>` : null}
    ${isOpen(status) ? cancelOf(model) : null} ${isOver && retry === null ? again : null}
  </div>`;
};

/** What a reader must know of them. */
export const notesOf = (model: JobViewModel): Html => {
  const { job, plan, use, rule, retry } = model;
  const { status, job_type, plan_job_id } = job;
  const isOver = status === "FAILED" || status === "CANCELLED";
  return html`${isPlanned(model) && !isDeployable(model) ? notDeployable(job, use) : null}
  ${
    job_type === "DEPLOY" && plan_job_id !== null
      ? html`<p>
          Applies <a href="/jobs/${plan_job_id}">this plan</a>. ${isOver ? whatNext(job) : null}
        </p>`
      : null
  }
  ${retry === null ? null : retryNotice(retry)}
  ${isDeployable(model) ? ruleOfPlan({ rule, plan }) : null}`;
};

const isPlanned = ({ job, plan }: JobViewModel): boolean =>
  job.job_type === "PLAN" && job.status === "SUCCESS" && plan?.applyable !== false;

const isDeployable = (model: JobViewModel): boolean =>
  isPlanned(model) && model.use.not_deployable === null;

/** A destruction is not repeated by one click. */
function againOf(job: Job): Html {
  const { job_type, plan_job_id } = job;
  if (job_type !== "DESTROY" && job_type !== "DESTROY_WORKER")
    return action(job, "retry", plan_job_id === null ? "Run it again" : "Plan again", "");
  return ask(
    "Run it again…",
    html`<p>It destroys without a plan.</p>
      ${action(job, "retry", `Run this ${jobTypeWords(job_type, null)} again`, "danger")}`,
  );
}

/** What an earlier retry has queued: a second one would do it twice. */
const retryNotice = (retry: Job): Html => {
  const { id, status, job_type, plan_options } = retry;
  const link = html`<a href="/jobs/${id}">${jobTypeWords(job_type, plan_options)}</a>`;
  return html`<p class="notice flow">
    ${
      isOpen(status)
        ? html`Queued again already: ${link} ${badge(status)}`
        : html`Planned again already: ${link}, which is not deployed yet. Start another plan on the
          page of ${linkOf(retry)}.`
    }
  </p>`;
};

/** What can be done with the plan of a deployment that did not succeed. */
function whatNext({ started_at, status, plan_job_id }: Job): Html | string {
  if (started_at !== null) return "A plan is applied only once: to try again, make a new plan.";
  return status === "FAILED"
    ? "Nothing was applied. To try again, make a new plan."
    : html`Nothing was applied. If the plan is still up to date, it can be deployed again on
        <a href="/jobs/${plan_job_id}">its page</a>; else that page makes a new plan.`;
}

/** Why a plan is not offered to be deployed. */
const notDeployable = (
  job: Job,
  { deploy_job_id: deploy, not_deployable: why }: JobViewModel["use"],
): Html =>
  deploy === null
    ? html`<p class="notice flow">
          This plan cannot be deployed: ${sentence(why?.detail ?? "")}
          ${job.own_source ? html`Start a new plan on the page of ${linkOf(job)}.` : null}
        </p>
        ${planAgain(job)}`
    : html`<p>
        <a href="/jobs/${deploy}">This deployment</a> applies the plan. A plan is applied only once.
      </p>`;

/** Not of files that were uploaded for the plan alone: the configuration has others. */
const planAgain = ({ configuration_id, plan_options, own_source }: Job): Html | null =>
  configuration_id === null || own_source
    ? null
    : html`<div class="actions">
        ${planButton(configuration_id, "Plan again", plan_options ?? {})}
      </div>`;

/** A job that may have changed something is not cancelled by one click. */
const cancelOf = ({ job, worker }: JobViewModel): Html => {
  const { status, job_type } = job;
  if (status === "QUEUED") return action(job, "cancel", "Cancel", "quiet");
  const offline = offlineNote(job, worker);
  const words = offline === null ? "Cancel: stop terraform" : "Cancel";
  const stop = action(job, "cancel", words, "quiet");
  if (job_type === "PLAN") return stop;
  return ask(
    "Cancel…",
    html`<p>
        ${offline ?? "Terraform stops as soon as it can."} What it has changed until then stays; the
        rest is not done.
      </p>
      ${stop}`,
  );
};

function action(
  { id, job_type, own_source }: Job,
  verb: "cancel" | "deploy" | "retry",
  words: string,
  look: string,
  inside: Html | null = null,
): Html {
  const needs = verb === "deploy" ? "deploy" : permissionForJob(job_type, own_source);
  return html`<form method="post" action="/jobs/${id}/${verb}" data-needs="${needs}">
    <button id="${verb}" class="${look}">${words}</button>
    ${inside}
  </form>`;
}
