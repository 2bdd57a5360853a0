/** The options of a plan: the form that asks for them, and how a plan shows them. */
import { planOptionsWords } from "../../../protocol/plan-text.ts";
import type { PlanOptions } from "../../../protocol/plan-options.ts";
import { choice, lines } from "../page/fields.ts";
import type { Form } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";

export const planOptionFields = (form: Form): Html =>
  html`${choice(form, { name: "mode", label: "What to plan" }, [
    ["", "all changes"],
    ["destroy", "to destroy what is deployed"],
    ["refresh_only", "only to take over into the state what changed outside of terraform"],
  ])}
  ${lines(form, {
    name: "targets",
    label: "Only these resources and modules",
    hint: "One address in each line, such as module.network. Empty: everything.",
    placeholder: "module.network",
  })}
  ${lines(form, {
    name: "replace",
    label: "Replace these resources",
    hint: "One address in each line. They are replaced even if nothing else changes.",
    placeholder: "aws_instance.web[0]",
  })}`;

/** A button that starts a plan with these options. */
export const planButton = (
  configuration: string,
  words: string,
  { destroy, refresh_only, targets = [], replace = [] }: Partial<PlanOptions>,
): Html => {
  const mode = destroy ? "destroy" : refresh_only ? "refresh_only" : "";
  const fields = { mode, targets: targets.join("\n"), replace: replace.join("\n") };
  const given = Object.entries(fields).filter(([, value]) => value !== "");
  return html`<form method="post" action="/configurations/${configuration}/jobs" data-needs="plan">
    <input type="hidden" name="job_type" value="PLAN" />
    ${given.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
    <button>${words}</button>
  </form>`;
};

export const planOptionsIn = (form: Form): Partial<PlanOptions> => {
  const mode = form.text("mode");
  const [targets, replace] = [form.linesOf("targets"), form.linesOf("replace")];
  return {
    ...(mode === "destroy" ? { destroy: true } : {}),
    ...(mode === "refresh_only" ? { refresh_only: true } : {}),
    ...(targets.length > 0 ? { targets } : {}),
    ...(replace.length > 0 ? { replace } : {}),
  };
};

/** What a plan with options does differently. */
export const planOptionsView = (
  options: PlanOptions,
  plan: { readonly applyable: boolean } | null,
): Html | null => {
  const words = planOptionsWords(options, plan);
  return words.length === 0 ? null : html`<p class="notice">${words.join(" ")}</p>`;
};
