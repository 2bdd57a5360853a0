import type { Configuration, UpdateConfiguration } from "../../../protocol/configurations.ts";
import { approvalCountLimit } from "../../../protocol/limits.ts";
import { approvalRuleText } from "../../../protocol/words.ts";
import { ask, choice, columns, tick, trouble } from "../page/fields.ts";
import { markOf, type Form, type FormsOf } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";

type Rule = NonNullable<UpdateConfiguration["approval"]>;

export const ruleSection = ({ id, approval = null }: Configuration, forms: FormsOf): Html => {
  const form = forms("rule", {
    when: approval?.when ?? "always",
    count: String(approval?.count ?? 1),
    by_author: approval?.by_author ? "on" : "",
  });
  const counts = Array.from({ length: approvalCountLimit }, (_, index) => String(index + 1));
  return html`<section aria-labelledby="approvals">
    <h2 id="approvals">Approvals</h2>
    <p>${approval ? approvalRuleText(approval) : "No deployment needs an approval."}</p>
    ${trouble(form, ["approval.when", "approval.count"])}
    ${ask(
      approval ? "Change the rule…" : "Require approvals…",
      html`<form method="post" action="/configurations/${id}/settings/approval" class="form">
        <input type="hidden" name="seen" value="${markOf(approval)}" />
        ${columns(
          choice(form, { name: "when", label: "Which deployments", path: "approval.when" }, [
            // Without a rule, the form is there to set one.
            ...(approval ? [["", "none: they run at once"] as const] : []),
            ["destructive", "those that delete or replace something"],
            ["always", "all of them"],
          ]),
          choice(
            form,
            { name: "count", label: "How many people must approve", path: "approval.count" },
            counts.map((count) => [count, count]),
          ),
        )}
        ${tick(
          form,
          "by_author",
          "The authors may approve, too: those who created the plan or the deployment. In a personal space there is no other person.",
        )}
        <p class="soft">
          The rule counts at once, also for deployments that are queued already. With a rule, every
          deployment and destruction needs a plan.
        </p>
        <p><button>Save the rule</button></p>
      </form>`,
      form.refusal !== undefined,
    )}
  </section>`;
};

export function ruleIn(form: Form): Rule | null {
  if (form.text("when") === "") return null;
  return {
    when: form.text("when") as Rule["when"],
    count: Number(form.text("count")),
    by_author: form.isOn("by_author"),
  };
}
