/** The actions on the page of a configuration: Plan first, the others behind a confirmation. */
import type { JobType } from "../../../protocol/jobs.ts";
import { approvalRuleText, resourcesText } from "../../../protocol/words.ts";
import { permissionForJob } from "../../domain/roles.ts";
import type { ConfigurationViewModel } from "./configuration-view-model.ts";
import { planForApproval } from "../approvals/plan-first.ts";
import { ask, debugTick, line, trouble } from "../page/fields.ts";
import { Form } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { planOptionFields } from "../plans/plan-options.ts";

export const actionsOf = ({ configuration }: ConfigurationViewModel, form: Form): Html => {
  const { id, name, deployed, approval = null } = configuration;
  const isManaged = deployed !== null && deployed.serial !== null;
  const type = form.text("job_type");
  const start = (
    words: string,
    job_type: JobType,
    look: string,
    inside: Html | null = null,
    tickOf: string | null = "",
  ) =>
    html`<form
      method="post"
      action="/configurations/${id}/jobs"
      data-needs="${permissionForJob(job_type, false)}"
    >
      <input type="hidden" name="job_type" value="${job_type}" />
      ${inside}
      <button class="${look}">${words}</button>
      ${tickOf === null ? null : debugTick(type === job_type ? form : new Form(), tickOf)}
    </form>`;
  const withOptions = form.text("options") !== "" ? form : new Form();
  const everything = html`Terraform destroys <strong>everything</strong> that ${name} has
    created${isManaged ? `: its state records ${resourcesText(deployed.resources)}` : ""}. This
    cannot be undone.`;
  const direct = html`${ask(
    "Deploy without reviewing the plan…",
    html`<p>
        Plans and applies in one job. To review the changes first, start a Plan and deploy that plan
        from its page.
      </p>
      ${start("Plan and apply now", "DEPLOY", "")}`,
    type === "DEPLOY",
  )}
  ${ask(
    "Destroy…",
    html`<p>
        ${everything} Plan it first to see what would be destroyed; that plan can be deployed from
        its page.
      </p>
      ${start("Plan the destruction", "PLAN", "quiet", html`<input type="hidden" name="mode" value="destroy" />`, " of the plan")}
      ${start(
        "Destroy everything",
        "DESTROY",
        "danger",
        line(type === "DESTROY" ? form : new Form(), {
          name: "confirm",
          label: "To confirm, type the name of the configuration",
          hint: html`<code>${name}</code>`,
        }),
        " of the destruction",
      )}`,
    type === "DESTROY",
  )}`;
  const byPlan = html`${ask(
    "Deploy…",
    html`<p>
        ${approval && approvalRuleText(approval)} Without a plan there is nothing to approve. Plan
        first, then deploy the plan from its page.
      </p>
      ${planForApproval(id)}`,
    type === "DEPLOY",
  )}
  ${ask(
    "Destroy…",
    html`<p>
        ${everything} ${approval && approvalRuleText(approval)} Plan the destruction first, then
        deploy that plan from its page.
      </p>
      ${planForApproval(id, true)}`,
    type === "DESTROY",
  )}`;
  return html`${trouble(form, ["confirm", "mode", "targets", "replace"])}
    <div class="actions">
      ${start("Plan", "PLAN", "", null, null)}
      ${ask(
        "Plan with options…",
        start(
          "Plan with these options",
          "PLAN",
          "",
          html`<input type="hidden" name="options" value="on" /> ${planOptionFields(withOptions)}`,
        ),
        withOptions === form,
      )}
      ${approval ? byPlan : direct}
    </div>`;
};
