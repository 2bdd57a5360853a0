/** The approvals of a deployment on its page: what is needed, who decided what, and the buttons. */
import type { Approval, ApprovalNeed, ApprovalRule } from "../../../protocol/approvals.ts";
import type { Job } from "../../../protocol/jobs.ts";
import type { ReviewedPlan } from "../../../protocol/reviewed-plan.ts";
import { differenceLines, reviewedText } from "../../../protocol/reviewed-words.ts";
import { approvalCommentLimit } from "../../../protocol/limits.ts";
import type { PlanSummary } from "../../../protocol/plan-summary.ts";
import {
  approvalRuleText,
  approvedPlaceText,
  approvalsText,
  approversText,
  decisionWords,
  destroysText,
  idleApprovalsText,
} from "../../../protocol/words.ts";
import { isDestructive } from "../../domain/approvals.ts";
import type { MayDecide } from "../../services/approvals/may-decide.ts";
import { ask, lines, sentence, trouble } from "../page/fields.ts";
import type { Form } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { ago, waiting } from "../page/words.ts";

export interface ApprovalViewModel {
  readonly job: Job;
  readonly plan: PlanSummary | null;
  readonly rule: ApprovalRule | null;
  /** Null: there is nothing to decide. */
  readonly mayDecide: MayDecide | null;
  /** The form as it was refused, or empty. */
  readonly form: Form;
  readonly now: string;
}

/** Whether a job waits for people. */
export const waitsForApproval = (job: Job): boolean =>
  job.approval_need ? job.approval_need.missing > 0 || !hasPlan(job) : false;

/** Whether there is a plan to approve: the one of the deployment, or the one of a pull request. */
const hasPlan = ({ plan_job_id, job_type }: Job): boolean =>
  plan_job_id !== null || job_type === "PLAN";

export const isRejected = ({ approvals = [] }: Job): boolean =>
  approvals.some(({ decision }) => decision === "reject");

/** What is needed and what was decided; nothing of a job without either. */
export const approvalView = ({ job, now }: ApprovalViewModel): Html | null => {
  const { approval_need: need, approvals = [] } = job;
  const reviewed = job.reviewed_plan ? reviewedView(job.reviewed_plan) : null;
  if (!need && approvals.length === 0) return reviewed;
  return html`${reviewed}
    <section class="${need ? "notice flow" : "flow"}" aria-labelledby="approval-title">
      <h2 id="approval-title">${titleOf(job)}</h2>
      ${need ? needOf(job, need) : null}
      ${
        approvals.length === 0
          ? null
          : html`<ul class="decisions">
              ${approvals.map((one) => decisionOf(one, now))}
            </ul>`
      }
      ${need && waitsForApproval(job) && !need.plan_staleness ? peopleOf(job, need) : null}
      ${
        need?.plan_staleness
          ? html`<p>
              <strong>The plan can no longer be applied.</strong> ${sentence(need.plan_staleness)}
              The deployment fails
              ${need && need.missing > 0 ? "within a minute" : "when a runner takes it"}.
            </p>`
          : null
      }
    </section>`;
};

/** Whether the plan is the one that was reviewed before the merge, and how it differs. */
const reviewedView = (reviewed: ReviewedPlan): Html => {
  const lines = differenceLines(reviewed);
  return html`<section class="flow" aria-labelledby="reviewed-title">
    <h2 id="reviewed-title">Reviewed plan</h2>
    <p>
      ${reviewedText(reviewed)} <a href="/jobs/${reviewed.job_id}">The plan of the pull request</a>
    </p>
    ${
      lines.length === 0
        ? null
        : html`<ul>
            ${lines.map((line) => html`<li><bdi>${line}</bdi></li>`)}
          </ul>`
    }
  </section>`;
};

function titleOf(job: Job): string {
  const { approval_need: need } = job;
  if (!need) return isRejected(job) ? "Rejected" : "Approved";
  if (!hasPlan(job)) return "Waits for a plan";
  return need.missing === 0 ? "Approved" : `Waits for ${approvalsText(need.missing)}`;
}

const needOf = (job: Job, need: ApprovalNeed): Html =>
  html`<p>
    ${hasPlan(job) ? null : html`${waiting(job)} `}${approvalRuleText(need.rule)}
    <bdi>${approvedPlaceText(need, job.labels)}</bdi>
    ${job.configuration_id === null ? null : html`<a href="/configurations/${job.configuration_id}/settings#approvals">The rule</a>`}
  </p>`;

const decisionOf = ({ email, decision, comment, at }: Approval, now: string): Html =>
  html`<li class="${decision}">
    <strong>${email}</strong> ${decisionWords[decision]} ${ago(at, now)}
    ${comment === null ? null : html`<p class="comment"><bdi>${comment}</bdi></p>`}
  </li>`;

/** Who can still approve, and who cannot. */
const peopleOf = (job: Job, need: ApprovalNeed): Html | null => {
  const { approvals = [] } = job;
  if (!hasPlan(job)) return null;
  const idle = idleApprovalsText(need, approvals);
  return html`${idle === null ? null : html`<p>${idle}</p>`}
    <p>
      ${approversText(need)}
      ${need.authors.length === 0 ? null : `${need.authors.length === 1 ? "The author is" : "The authors are"} ${need.authors.join(" and ")}.`}
    </p>`;
};

/** The buttons, or why there are none. */
export const decideView = ({ job, plan, mayDecide, form }: ApprovalViewModel): Html | null => {
  const { approval_need: need } = job;
  if (!need || !mayDecide) return trouble(form);
  const { refusals, hasApproved } = mayDecide;
  if (refusals.reject)
    return html`${trouble(form)}
    ${waitsForApproval(job) ? html`<p class="soft">You cannot decide. ${sentence(refusals.reject.message)}</p>` : null}`;
  const canApprove = !refusals.approve && !hasApproved && !need.plan_staleness && need.missing > 0;
  const destroys = plan === null ? "" : destroysText(plan.counts);
  const buttons = html`<div class="actions">
    ${
      canApprove
        ? html`<button name="decision" value="approve" class="${destroys === "" ? "" : "danger"}">
            ${destroys === "" ? "Approve" : `Approve (${destroys})`}
          </button>`
        : null
    }
    <button name="decision" value="reject" class="quiet danger">Reject</button>
  </div>`;
  const fields = html`<form method="post" action="/jobs/${job.id}/approvals" class="form">
    ${trouble(form, ["comment"])}
    ${lines(form, {
      name: "comment",
      label: "Comment",
      hint:
        job.job_type === "PLAN"
          ? "Optional. The approvals count for the deployment after the merge, if it plans the same."
          : "Optional. A rejection cancels the deployment, with the comment as the reason.",
      limit: approvalCommentLimit,
    })}
    ${buttons}
  </form>`;
  if (canApprove) return fields;
  return html`${hasApproved ? html`<p class="soft">You have approved it. Until it starts, you can still reject it.</p>` : null}
  ${ask("Reject…", fields, form.refusal !== undefined)}`;
};

/** What a DEPLOY of a plan will wait for; nothing if the rule does not cover it. */
export const ruleOfPlan = ({ rule, plan }: Pick<ApprovalViewModel, "rule" | "plan">): Html | null =>
  rule === null || (rule.when === "destructive" && !isDestructive(plan ?? undefined))
    ? null
    : html`<p>
        The deployment then waits for
        ${approvalsText(rule.count)}${rule.by_author ? "" : " other than its authors"}.
      </p>`;
