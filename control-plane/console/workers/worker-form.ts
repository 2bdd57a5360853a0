import type { ApprovalRule } from "../../../protocol/approvals.ts";
import type { Worker } from "../../../protocol/workers.ts";
import { approvalRuleText, destroyedWords } from "../../../protocol/words.ts";
import { planForApproval } from "../approvals/plan-first.ts";
import { ask, choice, debugTick, line, lines, tick, trouble } from "../page/fields.ts";
import { markOf, type Form } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { deployConfigurationOf, fieldsOf, keptSnapshot } from "./worker-input.ts";

/** Where the fields are in the API. */
const paths = [
  "name",
  "labels",
  "deploy_configuration.configuration_id",
  "deploy_configuration.targets",
];

/** Name, labels and what tearing it down destroys; `configurations` may be chosen. */
export const workerForm = (
  worker: Worker,
  form: Form,
  configurations: readonly { readonly id: string; readonly name: string }[],
): Html =>
  html`<nav class="trail" aria-label="Above">
      <a href="/workers">Workers</a> / <a href="/workers/${worker.id}">${worker.name}</a>
    </nav>
    <h1>Edit ${worker.name}</h1>
    <form method="post" action="/workers/${worker.id}/edit" class="form">
      <input type="hidden" name="seen" value="${markOf(fieldsOf(worker))}" />
      ${trouble(form, paths, `/workers/${worker.id}`)}
      ${line(form, { name: "name", label: "Name", required: true })}
      ${line(form, {
        name: "labels",
        label: "Labels",
        hint: "Separated by spaces. If the agent has the setting WINDLASS_LABELS, that setting replaces them.",
      })}
      <fieldset>
        <legend>What a teardown destroys</legend>
        ${choice(
          form,
          {
            name: "configuration_id",
            label: "Deployed by the configuration",
            path: "deploy_configuration.configuration_id",
          },
          [
            ["", "none: the worker cannot be torn down from here"],
            ...(deployConfigurationOf(worker)?.snapshot
              ? [[keptSnapshot, "its own snapshot, unchanged"] as const]
              : []),
            ...configurations.map(({ id, name }) => [id, name] as const),
          ],
        )}
        ${lines(form, {
          name: "targets",
          label: "Destroy only these",
          path: "deploy_configuration.targets",
          placeholder: "module.worker",
          hint: "Addresses of modules or resources, one on each line.",
        })}
        ${tick(form, "all", "Destroy everything in the state of that configuration")}
      </fieldset>
      <button>Save</button>
    </form>`;

/** `form`: a refused one. `rule`: approval rule of the configuration that deployed the worker. */
export function teardownView(
  worker: Worker,
  {
    deployedBy,
    rule,
  }: { readonly deployedBy: string | undefined; readonly rule: ApprovalRule | null },
  form: Form,
): Html {
  const { id, name } = worker;
  const known = deployConfigurationOf(worker);
  if (!known)
    return html`<p class="soft">
      It is not known what this worker was deployed with, so it cannot be torn down from here:
      <a href="/workers/${id}/edit">set its deploy configuration</a>.
    </p>`;
  const { configuration_id, snapshot, targets } = known;
  const of = deployedBy ?? snapshot?.name ?? configuration_id ?? "its own configuration";
  if (rule !== null && configuration_id !== undefined)
    return ask(
      "Tear down…",
      html`${trouble(form, ["confirm"])}
        <p>
          ${approvalRuleText(rule)} So plan to destroy
          <strong>${destroyedWords(targets, of)}</strong>, and deploy that plan. Another worker must
          run it: drain this worker before, and remove it after.
        </p>
        ${planForApproval(configuration_id, true, targets)}`,
      form.refusal !== undefined,
    );
  return ask(
    "Tear down…",
    html`${trouble(form, ["confirm"])}
      <p>
        Another worker destroys <strong>${destroyedWords(targets, of)}</strong>. Then this worker is
        removed. Until then it takes no jobs. This cannot be undone.
      </p>
      <form method="post" action="/workers/${id}/teardown">
        <input type="hidden" name="seen" value="${markOf(known)}" />
        ${line(form, {
          name: "confirm",
          label: "To confirm, type the name of the worker",
          hint: html`<code>${name}</code>`,
        })}
        <button id="teardown" class="danger">
          ${targets === undefined ? "Destroy everything and remove the worker" : "Destroy these and remove the worker"}
        </button>
        ${debugTick(form)}
      </form>`,
    form.refusal !== undefined,
  );
}
