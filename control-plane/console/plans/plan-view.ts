/**
 * A plan drawn so that it is understood before it is read: counts first, then what is destroyed,
 * then the rest.
 */
import type { Job } from "../../../protocol/jobs.ts";
import type { PlanOptions } from "../../../protocol/plan-options.ts";
import type { PlannedChange, PlanSummary } from "../../../protocol/plan-summary.ts";
import {
  planMarkdown,
  shownChecks,
  type AppliedJob,
  nothingText,
  partialPlanText,
} from "../../../protocol/plan-text.ts";
import { planReason } from "../../../protocol/words.ts";
import { html, type Html } from "../page/html.ts";
import { attributesView, outputView } from "./attributes-view.ts";

type Action = PlannedChange["action"];

/** In the order of what can go wrong. */
const actions: readonly (readonly [Action, string, string])[] = [
  ["delete", "−", "destroyed"],
  ["replace", "±", "replaced"],
  ["forget", "○", "forgotten (it stays, but terraform no longer manages it)"],
  ["update", "~", "changed"],
  ["create", "+", "created"],
  ["none", "→", "moved or imported, otherwise unchanged"],
  ["read", "↓", "read"],
];

/** Whether the plan is only made or is being applied, was applied, or was applied in part at most. */
export type Tense = "planned" | "done" | "tried";

const titles = {
  planned: "What this plan changes",
  done: "What was changed",
  tried: "What the plan was to change",
} as const satisfies Record<Tense, string>;

/**
 * The whole summary of the plan of a configuration. `applied`: the job that applied it and has ended.
 * `deployment`: the same, also on the page of the PLAN.
 */
export const planView = (
  name: string,
  plan: PlanSummary,
  tense: Tense,
  applied: AppliedJob | undefined,
  deployment: Pick<Job, "status"> | undefined,
  options: PlanOptions | null | undefined,
): Html => {
  const { counts, changes, outputs, drift } = plan;
  const checks = shownChecks(plan);
  const changed = outputs.filter(({ action }) => action !== "none");
  const shown = { isShort: changes.length <= openUpTo, isOver: tense !== "planned" };
  const tile = (number: number, action: Action, sign: string, planned: string, done: string) =>
    count(number, action, sign, tense === "done" ? done : planned);
  return html`<windlass-plan class="plan" role="region" aria-labelledby="plan-title">
    <h2 id="plan-title">${titles[tense]}</h2>
    ${plan.applyable ? null : html`<p>${nothingText(options)}</p>`}
    ${counts.only === undefined || changed.length > 0 ? null : html`<p>${onlySentence[counts.only]}</p>`}
    <ul class="counts">
      ${tile(counts.create, "create", "+", "to create", "created")}
      ${tile(counts.update, "update", "~", "to change", "changed")}
      ${tile(counts.replace, "replace", "±", "to replace", "replaced")}
      ${tile(counts.delete, "delete", "−", "to destroy", "destroyed")}
      ${counts.forget > 0 ? tile(counts.forget, "forget", "○", "to forget", "forgotten") : null}
      ${counts.move > 0 ? tile(counts.move, "none", "→", "to move", "moved") : null}
      ${counts.import > 0 ? tile(counts.import, "none", "↓", "to import", "imported") : null}
    </ul>
    ${plan.changes.length === 0 ? null : toolsOf(plan)}
    ${plan.complete ? null : html`<p class="warning">${partialPlanText(deployment)}</p>`}
    ${actions.map(([action, sign, word]) => {
      const some = changes.filter((change) => change.action === action);
      return group(some, action, sign, `${verbs[tense](some.length)} ${word}`, shown);
    })}
    ${more(plan.changes_omitted, "changes; the log has all of them")}
    ${
      changed.length === 0
        ? null
        : html`<h3>Changes to outputs</h3>
            <ul class="changes">
              ${changed.map((output) => row(output.action, outputView(output, shown.isOver)))}
            </ul>
            ${more(plan.outputs_omitted, "outputs")}`
    }
    ${
      checks.length === 0
        ? null
        : html`<h3>Checks</h3>
            <ul class="changes">
              ${checks.map(({ address, status }) => html`<li><code>${address}</code> <span>${checkText(status, shown.isOver)}</span></li>`)}
            </ul>`
    }
    ${
      drift.length === 0
        ? null
        : html`<details>
            <summary>
              Changed outside of terraform: ${String(drift.length + plan.drift_omitted)}
            </summary>
            <ul class="changes">
              ${drift.map(({ address, action }) => row(action, html`<code>${address}</code>`))}
            </ul>
            ${more(plan.drift_omitted, "resources")}
          </details>`
    }
    ${plan.changes.length === 0 ? null : markdownOf(planMarkdown(name, plan, { applied, options }))}
  </windlass-plan>`;
};

/** For a deployment whose plan is not known in detail. */
const onlySentence = {
  outputs: "No resource, only outputs: the log has them.",
  state: "No resource, only the state.",
} as const;

const markdownOf = (text: string): Html =>
  html`<details class="markdown">
    <summary>As Markdown, for a pull request</summary>
    <pre tabindex="0" aria-label="The plan as Markdown">${text}</pre>
  </details>`;

/** What a script does: search, a filter, and the text to copy. */
const toolsOf = (plan: PlanSummary): Html =>
  html`<div class="tools" hidden>
      <input type="search" name="find" aria-label="Search the changes" placeholder="Search" />
      <label
        >Show
        <select name="action" autocomplete="off">
          <option value="">all changes</option>
          ${actions
            .filter(([action]) => plan.changes.some((change) => change.action === action))
            .map(([action, , word]) => html`<option value="${action}">${shortWord(word)}</option>`)}
        </select></label
      >
      <button type="button" class="quiet" name="copy">Copy as Markdown</button>
      <output></output>
    </div>
    ${
      plan.truncated
        ? html`<p class="warning flow">
            This plan is too large to be shown in full. The log has all of it.
          </p>`
        : null
    }`;

const shortWord = (word: string): string => word.replace(/ \(.*/, "");

const count = (number: number, action: Action, sign: string, word: string): Html =>
  html`<li class="${number === 0 ? "zero" : action}">
    <span class="sign" aria-hidden="true">${sign}</span><strong>${String(number)}</strong> ${word}
  </li>`;

/** `5 resources will be created`. */
const verbs = {
  planned: () => "will be",
  done: (number) => (number === 1 ? "was" : "were"),
  tried: (number) => (number === 1 ? "was to be" : "were to be"),
} as const satisfies Record<Tense, (number: number) => string>;

/** Up to so many are open at once: a plan is understood before it is read. */
const openUpTo = 30;
const open = html`open`;

interface Shown {
  readonly isShort: boolean;
  /** The job that applied the plan has ended. */
  readonly isOver: boolean;
}

function checkText(status: PlanSummary["checks"][number]["status"], isOver: boolean): string {
  if (status !== "unknown") return "fails";
  return isOver ? "was not known when it was planned" : "is known only after the apply";
}

const group = (
  changes: readonly PlannedChange[],
  action: Action,
  sign: string,
  words: string,
  shown: Shown,
): Html | null =>
  changes.length === 0
    ? null
    : html`<details
        class="group"
        ${changes.length <= openUpTo || action === "delete" || action === "replace" ? open : null}
      >
        <summary>
          <span class="sign ${action}" aria-hidden="true">${sign}</span> ${String(changes.length)}
          ${changes.length === 1 ? "resource" : "resources"} ${words}
        </summary>
        <ul class="changes">
          ${changes.map((change) => html`<li data-action="${action}">${signOf(action)} ${resource(change, shown)}</li>`)}
        </ul>
      </details>`;

/** The resource; what changes in it is folded, unless it is little. */
const resource = (change: PlannedChange, { isShort, isOver }: Shown): Html => {
  const { action } = change;
  const values = attributesView(change, isOver);
  if (values === null) return html`<span>${what(change)}</span>`;
  const isOpen = isShort && (action === "update" || action === "replace");
  return html`<details class="resource" ${isOpen ? open : null}>
    <summary>${what(change)}</summary>
    ${values}
  </details>`;
};

const row = (action: Action, body: Html): Html =>
  html`<li>${signOf(action)} <span>${body}</span></li>`;

const signOf = (action: Action): Html => {
  const [, sign = "", word = ""] = actions.find(([name]) => name === action) ?? [];
  return html`<span class="sign ${action}" role="img" aria-label="${word}">${sign}</span>`;
};

const what = ({
  address,
  reason,
  replaced_by,
  previous_address,
  imported,
  created_first,
}: PlannedChange): Html =>
  html`<code>${address}</code>
    ${reason === undefined ? null : html`<span class="why">because ${planReason(reason)}${replaced_by?.length ? ":" : ""}</span>`}
    ${replaced_by?.map((name) => html`<code class="why">${name}</code> `)}
    ${previous_address === undefined ? null : html`<span class="why">was <code>${previous_address}</code></span>`}
    ${imported ? html`<span class="why">is imported</span>` : null}
    ${created_first ? html`<span class="why">the new one is created first</span>` : null}`;

const more = (omitted: number, of: string): Html | null =>
  omitted === 0
    ? null
    : html`<p class="soft">… and ${omitted.toLocaleString("en")} more ${of}.</p>`;
