/** A plan as a diff: how many changes of each kind, then a tree of modules with what changes in them. */
import type { Job } from "../../../protocol/jobs.ts";
import type { PlanOptions } from "../../../protocol/plan-options.ts";
import type { PlannedChange, PlanSummary } from "../../../protocol/plan-summary.ts";
import {
  planMarkdown,
  shownChecks,
  type AppliedJob,
  nothingText,
  partialPlanText,
  visible,
} from "../../../protocol/plan-text.ts";
import { planReason } from "../../../protocol/words.ts";
import { html, type Html } from "../page/html.ts";
import { icon } from "../page/icons.ts";
import { count } from "../page/words.ts";
import { attributesView, otherReasons, outputsView } from "./attributes-view.ts";
import { changesIn, treeOf, type TreeEntry } from "./plan-tree.ts";

type Action = PlannedChange["action"];

/** In the order of what can go wrong. */
const actions: readonly (readonly [Action, string, string])[] = [
  ["delete", "−", "destroyed"],
  ["replace", "±", "replaced"],
  ["forget", "○", "forgotten: it stays, but terraform no longer manages it"],
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

interface PlanViewModel {
  /** That of its configuration. */
  readonly name: string;
  readonly plan: PlanSummary;
  readonly tense: Tense;
  /** The job that applied it and has ended. */
  readonly applied: AppliedJob | undefined;
  /** That job, also on the page of the PLAN. */
  readonly deployment: Pick<Job, "status"> | undefined;
  readonly options: PlanOptions | null | undefined;
  /** Whether retention has removed the log of the job. */
  readonly isLogRemoved?: boolean;
}

export const planView = (model: PlanViewModel): Html => {
  const { name, plan, tense, applied, deployment, options, isLogRemoved } = model;
  const where = isLogRemoved ? "the log, which had them, was removed" : "the log has them";
  const { counts, changes, outputs, drift } = plan;
  const checks = shownChecks(plan);
  const changed = outputs.filter(({ action }) => action !== "none");
  const isOver = tense !== "planned";
  return html`<windlass-plan class="plan" role="region" aria-labelledby="plan-title">
    <h2 id="plan-title">${titles[tense]}</h2>
    ${plan.applyable ? null : html`<p>${nothingText(options)}</p>`}
    ${counts.only === undefined || changed.length > 0 ? null : html`<p>${onlySentence[counts.only]}</p>`}
    ${countsView(plan, tense)} ${changes.length === 0 ? null : tools}
    ${plan.truncated ? html`<p class="warning flow">${truncatedText(plan)}: ${where}.</p>` : null}
    ${plan.complete ? null : html`<p class="warning">${partialPlanText(deployment)}</p>`}
    ${
      changes.length === 0
        ? null
        : html`<ul class="changes">
            ${treeOf(changes).map((entry) => entryView(entry, { isShort: changes.length <= openUpTo, isOver }))}
          </ul>`
    }
    ${more(plan.changes_omitted, `changes; ${where}`)}
    ${
      changed.length === 0
        ? null
        : html`<h3>Changes to outputs</h3>
            ${outputsView(changed, isOver)} ${more(plan.outputs_omitted, "outputs")}`
    }
    ${
      checks.length === 0
        ? null
        : html`<h3>Checks</h3>
            <ul class="changes">
              ${checks.map(
                ({ address, status }) =>
                  html`<li class="line">
                    <code>${visible(address)}</code> <span>${checkText(status, isOver)}</span>
                  </li>`,
              )}
            </ul>`
    }
    ${
      drift.length === 0
        ? null
        : html`<details ${options?.refresh_only ? open : null}>
            <summary>
              Changed outside of terraform: ${String(drift.length + plan.drift_omitted)}
            </summary>
            ${driftView(plan)}
          </details>`
    }
    ${changes.length === 0 ? null : markdownOf(planMarkdown(name, plan, { applied, options }))}
  </windlass-plan>`;
};

/** The resources that were changed outside of terraform, attribute by attribute. */
export const driftView = ({ drift, drift_omitted }: PlanSummary): Html =>
  html`<ul class="changes">
      ${drift.map(
        (one) =>
          html`<li>
            ${resource(one, one.address, { isShort: drift.length <= openUpTo, isOver: true })}
          </li>`,
      )}
    </ul>
    ${more(drift_omitted, "resources")}`;

/** The kinds of changes from the worst one. The filter's name is that of the action. */
const kinds = [
  ["delete", "delete", "to destroy", "destroyed"],
  ["replace", "replace", "to replace", "replaced"],
  ["forget", "forget", "to forget", "forgotten"],
  ["update", "update", "to change", "changed"],
  ["create", "create", "to create", "created"],
  ["move", "none", "to move", "moved"],
  ["import", "none", "to import", "imported"],
] as const;

/** Each kind is a part of one bar, and a button that shows it alone. */
function countsView({ counts }: PlanSummary, tense: Tense): Html | null {
  const some = kinds.filter(([kind]) => counts[kind] > 0);
  if (some.length === 0) return null;
  const total = some.reduce((sum, [kind]) => sum + counts[kind], 0);
  // The parts leave room for each other, and one of thousands can still be seen.
  const width = (kind: (typeof kinds)[number][0]): number => 20 + (980 * counts[kind]) / total;
  let at = 0;
  const parts = some.map(([kind, action]) => {
    const x = at;
    at += width(kind);
    return html`<rect class="${action}" x="${x}" width="${width(kind) - 4}" height="8"></rect>`;
  });
  return html`<svg
      class="share"
      viewBox="0 0 ${at - 4} 8"
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      ${parts}
    </svg>
    <ul class="plan-counts">
      ${some.map(([kind, action, planned, done]) => {
        const said = html`<span class="sign ${action}" aria-hidden="true">${signIn(action)}</span>
          <strong>${counts[kind].toLocaleString("en")}</strong>
          ${tense === "done" ? done : planned}`;
        // Without a script, nothing filters.
        return html`<li>
          ${action === "none" ? html`<span>${said}</span>` : html`<button type="button" name="action" value="${action}" aria-pressed="false" disabled>${said}</button>`}
        </li>`;
      })}
    </ul>`;
}

const signIn = (action: Action): string => actions.find(([name]) => name === action)?.[1] ?? "";

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

/** What a script does: search, and the text to copy. */
const tools = html`<div class="tools" hidden>
  <input type="search" name="find" aria-label="Search the changes" placeholder="Search" />
  <button type="button" class="quiet" name="unfold">Unfold all</button>
  <button type="button" class="quiet" name="copy">Copy as Markdown</button>
  <output></output>
</div>`;

const truncatedText = ({ changes_omitted }: PlanSummary): string =>
  changes_omitted > 0
    ? "This plan has more changes than are shown here"
    : "Some values of this plan are too large to be shown here";

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

const entryView = (entry: TreeEntry, shown: Shown): Html =>
  "change" in entry
    ? html`<li data-action="${entry.change.action}">
        ${resource(entry.change, entry.name, shown)}
      </li>`
    : moduleView(entry, shown);

/** What a long plan destroys is seen without a click. */
function moduleView(entry: Extract<TreeEntry, { module: string }>, shown: Shown): Html {
  const changes = changesIn(entry);
  const isOpen =
    shown.isShort || changes.some(({ action }) => action === "delete" || action === "replace");
  return html`<li class="module">
    <details ${isOpen ? open : null}>
      <summary>
        ${icon("box")} <code>${visible(entry.module)}</code>
        <span class="tally"
          >${actions.map(([action, sign, word]) => {
            const { length } = changes.filter((change) => change.action === action);
            return length === 0
              ? null
              : html`<span class="${action}" title="${word}">${sign}${length}</span> `;
          })}</span
        >
      </summary>
      <ul class="changes">
        ${entry.entries.map((inside) => entryView(inside, shown))}
      </ul>
    </details>
  </li>`;
}

/** The resource; what changes in it is folded, unless it is little. `name`: within its module. */
const resource = (change: PlannedChange, name: string, { isShort, isOver }: Shown): Html => {
  const { action, address, attributes = [] } = change;
  const values = attributesView(change, isOver);
  const line = html`${signOf(action)}
    <span class="what"
      ><code data-address="${visible(address)}">${visible(name)}</code> ${whyOf(change)}</span
    >`;
  if (values === null) return html`<div class="line">${line}</div>`;
  const isOpen = isShort && (action === "update" || action === "replace");
  return html`<details class="resource" ${isOpen ? open : null}>
    <summary class="line">
      ${line}<span class="soft">${count(attributes.length, "attribute")}</span>
    </summary>
    ${values}
  </details>`;
};

const signOf = (action: Action): Html => {
  const [, sign = "", word = ""] = actions.find(([name]) => name === action) ?? [];
  return html`<span class="sign ${action}" role="img" aria-label="${word}">${sign}</span>`;
};

const whyOf = (change: PlannedChange): Html => {
  const { reason, previous_address, imported, created_first } = change;
  const others = otherReasons(change);
  return html`${reason === undefined ? null : html`<span class="why">because ${planReason(reason)}${others.length > 0 ? ":" : ""}</span>`}
  ${others.map((name) => html`<code class="why">${visible(name)}</code> `)}
  ${previous_address === undefined ? null : html`<span class="why">was <code>${visible(previous_address)}</code></span>`}
  ${imported ? html`<span class="why">is imported</span>` : null}
  ${created_first ? html`<span class="why">the new one is created first</span>` : null}`;
};

const more = (omitted: number, of: string): Html | null =>
  omitted === 0
    ? null
    : html`<p class="soft">… and ${omitted.toLocaleString("en")} more ${of}.</p>`;
