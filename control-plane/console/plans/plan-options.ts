/** The options of a plan: the form that asks for them, and how a plan shows them. */
import { planOptionsWords } from "../../../protocol/plan-text.ts";
import type { Engine } from "../../../protocol/configurations.ts";
import type { PlanOptions } from "../../../protocol/plan-options.ts";
import { choice, lines } from "../page/fields.ts";
import type { Form } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";

export const planOptionFields = (form: Form, engine: Engine | undefined): Html =>
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
  })}
  ${
    engine === "opentofu" || form.text("exclude") !== ""
      ? lines(form, {
          name: "exclude",
          label: "Everything but these resources and modules",
          hint: "One address in each line. What depends on them is left out too. A misspelt address leaves out nothing.",
          placeholder: "module.network",
        })
      : null
  }`;

/** The options whose addresses a form has as lines. */
const lists = ["targets", "replace", "exclude"] as const;

/** A button that starts a plan with these options. */
export const planButton = (
  configuration: string,
  words: string,
  { destroy, refresh_only, ...more }: Partial<PlanOptions>,
): Html => {
  const mode = destroy ? "destroy" : refresh_only ? "refresh_only" : "";
  const addresses = lists.map((name) => [name, (more[name] ?? []).join("\n")] as const);
  const given = [["mode", mode] as const, ...addresses].filter(([, value]) => value !== "");
  return html`<form method="post" action="/configurations/${configuration}/jobs" data-needs="plan">
    <input type="hidden" name="job_type" value="PLAN" />
    ${given.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
    <button>${words}</button>
  </form>`;
};

export const planOptionsIn = (form: Form): Partial<PlanOptions> => {
  const mode = form.text("mode");
  const given = lists.map((name) => [name, form.linesOf(name)] as const);
  return {
    ...(mode === "destroy" ? { destroy: true } : {}),
    ...(mode === "refresh_only" ? { refresh_only: true } : {}),
    ...Object.fromEntries(given.filter(([, addresses]) => addresses.length > 0)),
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
