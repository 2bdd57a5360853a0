/** An apply as a picture: a bar for each resource, from its start to its end. */
import type { PlanSummary } from "../../../protocol/plan-summary.ts";
import { visible } from "../../../protocol/plan-text.ts";
import type { Changes, ResourceChange } from "../../services/jobs/resources.ts";
import { html, type Html } from "../page/html.ts";
import { lengthOfTime } from "../page/words.ts";

/** Resources with a bar; the log has all. */
const barLimit = 300;

interface Row {
  readonly address: string;
  /** Its changes in their order: a replacement has two. */
  readonly changes: readonly ResourceChange[];
}

/** Empty until terraform changes something. `isOver`: nothing of it will end any more. */
export function resourcesView(
  { list, until }: Changes,
  { plan, isOver }: { readonly plan: PlanSummary | null; readonly isOver: boolean },
): Html | null {
  const [first] = list;
  if (first === undefined) return null;
  const rows = rowsOf(list);
  const from = first.started_at;
  const scale = { from, length: Math.max(1, until - from), until, isOver };
  const shown = mostInteresting(rows);
  return html`<section class="resources" aria-labelledby="resources-title">
    <h2 id="resources-title">Resources</h2>
    <p class="soft">${headline(rows, plan, isOver)}</p>
    <ol class="bars" tabindex="0" aria-labelledby="resources-title">
      ${shown.map((row) => rowView(row, scale))}
    </ol>
    ${
      shown.length === rows.length
        ? null
        : html`<p class="soft">
            … and ${(rows.length - shown.length).toLocaleString("en")} more. The log has all of
            them.
          </p>`
    }
  </section>`;
}

function rowsOf(list: readonly ResourceChange[]): Row[] {
  const rows = new Map<string, ResourceChange[]>();
  for (const change of list) {
    const known = rows.get(change.address);
    if (known) known.push(change);
    else rows.set(change.address, [change]);
  }
  return [...rows].map(([address, changes]) => ({ address, changes }));
}

/** All that fail or are under way come first; the order stays that of their starts. */
function mostInteresting(rows: readonly Row[]): readonly Row[] {
  if (rows.length <= barLimit) return rows;
  const isDone = (row: Row): boolean => stateOf(row) === "done";
  const wanted = [...rows.filter((row) => !isDone(row)), ...rows.filter(isDone)];
  const kept = new Set(wanted.slice(0, barLimit));
  return rows.filter((row) => kept.has(row));
}

type State = "done" | "failed" | "open";

function stateOf({ changes }: Row): State {
  if (changes.some(({ isFailed }) => isFailed)) return "failed";
  return changes.some(({ ended_at }) => ended_at === null) ? "open" : "done";
}

/** `7 of 12 done, 2 in progress, 1 failed`. */
function headline(rows: readonly Row[], plan: PlanSummary | null, isOver: boolean): string {
  const count = (state: State): number => rows.filter((row) => stateOf(row) === state).length;
  const { create = 0, update = 0, replace = 0, delete: deleted = 0 } = plan?.counts ?? {};
  const total = create + update + replace + deleted;
  const [done, open, failed] = [count("done"), count("open"), count("failed")];
  return [
    `${done}${total >= rows.length ? ` of ${total}` : ""} done`,
    ...(open > 0 ? [`${open} ${isOver ? "not finished" : "in progress"}`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
  ].join(", ");
}

interface Scale {
  readonly from: number;
  readonly length: number;
  readonly until: number;
  readonly isOver: boolean;
}

const words: Readonly<Record<ResourceChange["action"], readonly [sign: string, word: string]>> = {
  create: ["+", "create"],
  update: ["~", "change"],
  delete: ["−", "destroy"],
  read: ["↓", "read"],
  import: ["→", "import"],
};

/** Units of the picture's width. */
const width = 1000;
/** A bar of a short change can still be seen. */
const narrowest = 6;

function rowView(row: Row, scale: Scale): Html {
  const { address, changes } = row;
  const last = changes.at(-1) as ResourceChange;
  const failed = changes.find(({ isFailed }) => isFailed) ?? last;
  const state = stateOf(row);
  const [sign, word] = words[last.action];
  const isReplaced = changes.length > 1 && changes.some(({ action }) => action === "delete");
  return html`<li class="${state}">
    <span
      class="sign ${isReplaced ? "replace" : last.action}"
      role="img"
      aria-label="${isReplaced ? "replace" : word}"
      >${isReplaced ? "±" : sign}</span
    >
    <a href="#C${failed.chunk}" title="${visible(address)}"><bdi>${visible(address)}</bdi></a>
    <svg viewBox="0 0 ${width} 10" preserveAspectRatio="none" aria-hidden="true">
      ${changes.map((change) => bar(change, scale))}
    </svg>
    <span class="took">${took(row, state, scale)}</span>
  </li>`;
}

function bar(change: ResourceChange, { from, length, until, isOver }: Scale): Html {
  const place = (time: number): number => Math.round(((time - from) / length) * width);
  const end = place(change.ended_at ?? until);
  const start = Math.max(0, Math.min(place(change.started_at), width - narrowest));
  const size = Math.max(narrowest, end - start);
  const look = change.isFailed
    ? "failed"
    : change.ended_at === null
      ? `${change.action} ${isOver ? "stopped" : "running"}`
      : change.action;
  return html`<rect class="${look}" x="${start}" y="0" width="${size}" height="10"></rect>`;
}

function took({ changes }: Row, state: State, { until, isOver }: Scale): string {
  const [first] = changes;
  const end = changes.at(-1)?.ended_at ?? until;
  const seconds = Math.max(0, Math.round((end - (first?.started_at ?? end)) / 1000));
  const length = lengthOfTime(seconds);
  if (state === "failed") return `failed after ${length}`;
  if (state === "done") return length;
  return isOver ? "not finished" : `for ${length}`;
}
