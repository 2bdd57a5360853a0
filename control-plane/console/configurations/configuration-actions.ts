/** What is started from the pages of a configuration: Plan first, the others behind a confirmation. */
import type { Configuration } from "../../../protocol/configurations.ts";
import type { JobType } from "../../../protocol/jobs.ts";
import { approvalRuleText, resourcesText } from "../../../protocol/words.ts";
import { permissionForJob } from "../../domain/roles.ts";
import { planForApproval } from "../approvals/plan-first.ts";
import { ask, debugTick, line, trouble } from "../page/fields.ts";
import { Form } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { planOptionFields } from "../plans/plan-options.ts";

/** A form that starts a job. `path`: where it is sent to. */
const start = (
  path: string,
  words: string,
  job_type: JobType,
  look: string,
  { inside, tick }: { readonly inside?: Html; readonly tick?: Html } = {},
): Html =>
  html`<form method="post" action="${path}" data-needs="${permissionForJob(job_type, false)}">
    <input type="hidden" name="job_type" value="${job_type}" />
    ${inside}
    <button class="${look}">${words}</button>
    ${tick}
  </form>`;

/** Plans and deployments, on every tab. */
export const actionsOf = ({ id, approval = null, engine }: Configuration, form: Form): Html => {
  const path = `/configurations/${id}/jobs`;
  const isDeploy = form.text("job_type") === "DEPLOY";
  const withOptions = form.text("options") !== "" ? form : new Form();
  const inside = html`<input type="hidden" name="options" value="on" />
    ${planOptionFields(withOptions, engine)}`;
  const tick = debugTick(form.text("job_type") === "PLAN" ? form : new Form());
  return html`<div class="actions">
    ${trouble(form, ["mode", "targets", "replace", "exclude"])} ${start(path, "Plan", "PLAN", "")}
    ${ask(
      "Plan with options…",
      start(path, "Plan with these options", "PLAN", "", { inside, tick }),
      withOptions === form,
    )}
    ${
      approval === null
        ? ask(
            "Deploy without reviewing the plan…",
            html`<p>
                Plans and applies in one job. To review the changes first, start a Plan and deploy
                that plan from its page.
              </p>
              ${start(path, "Plan and apply now", "DEPLOY", "", { tick: debugTick(isDeploy ? form : new Form()) })}`,
            isDeploy,
          )
        : ask(
            "Deploy…",
            html`<p>
                ${approvalRuleText(approval)} Without a plan there is nothing to approve. Plan
                first, then deploy the plan from its page.
              </p>
              ${planForApproval(id)}`,
            isDeploy,
          )
    }
  </div>`;
};

/** `form`: of the destruction, or of its plan. */
export const destroySection = (configuration: Configuration, form: Form): Html => {
  const { id, name, deployed, approval = null } = configuration;
  const path = `/configurations/${id}/settings/destroy`;
  const isManaged = deployed !== null && deployed.serial !== null;
  const destruction = form.text("job_type") === "DESTROY" ? form : new Form();
  const everything = html`Terraform destroys <strong>everything</strong> that ${name} has
    created${isManaged ? `: its state records ${resourcesText(deployed.resources)}` : ""}. This
    cannot be undone.`;
  return html`<section aria-labelledby="destroy-title">
    <h2 id="destroy-title">Destroy</h2>
    <p class="soft">Terraform destroys what is deployed. The configuration stays.</p>
    ${trouble(form, ["confirm"])}
    ${ask(
      "Destroy…",
      approval === null
        ? html`<p>
              ${everything} Plan it first to see what would be destroyed; that plan can be deployed
              from its page.
            </p>
            ${start(path, "Plan the destruction", "PLAN", "quiet", {
              inside: html`<input type="hidden" name="mode" value="destroy" />`,
              tick: debugTick(new Form(), " of the plan"),
            })}
            ${start(path, "Destroy everything", "DESTROY", "danger", {
              inside: line(destruction, {
                name: "confirm",
                label: "To confirm, type the name of the configuration",
                hint: html`<code>${name}</code>`,
              }),
              tick: debugTick(destruction, " of the destruction"),
            })}`
        : html`<p>
              ${everything} ${approvalRuleText(approval)} Plan the destruction first, then deploy
              that plan from its page.
            </p>
            ${planForApproval(id, true)}`,
      form.refusal !== undefined,
    )}
  </section>`;
};
