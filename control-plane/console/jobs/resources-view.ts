/** An apply as a picture: a bar for each resource, from its start to its end. */
import type { Job, ResourceOutcome } from "../../../protocol/jobs.ts";
import type { PlanSummary } from "../../../protocol/plan-summary.ts";
import { visible } from "../../../protocol/plan-text.ts";
import { outcomeWords, resourceProgressWords } from "../../../protocol/words.ts";
import {
  appliedOf,
  isHalfDone,
  outcomesOf,
  progressOf,
  type ChangedResource,
  type Changes,
  type ResourceChange,
} from "../../services/logs/resources.ts";
import { html, type Html } from "../page/html.ts";
import { lengthOfTime } from "../page/words.ts";

/** Resources with a bar; the log has all. */
const barLimit = 300;

/** Empty until terraform changes something. Of an apply that failed, also what it did not reach. */
export function resourcesView(
  { list, until }: Changes,
  plan: PlanSummary | null,
  job: Pick<Job, "status" | "ended_at" | "outcome_unknown">,
): Html | null {
  if (list.length === 0) return null;
  const { changes = [], counts = null } = plan ?? {};
  const isOver = job.ended_at !== null;
  const applied = appliedOf(list, changes);
  const { rows } = applied;
  const from = Math.min(...list.map(({ started_at }) => started_at));
  const scale = { from, length: Math.max(1, until - from), until, isOver };
  const isReplaced = ({ address, changes }: ChangedResource): boolean =>
    applied.planned.get(address) === "replace" || isReplacement(changes);
  const shown = mostInteresting(rows);
  const resources = isHalfDone(job) ? outcomesOf(applied, job.outcome_unknown) : [];
  const reached = new Set(rows.map(({ address }) => address));
  const missed = resources.filter(({ address }) => !reached.has(address));
  const shownMissed = missed.slice(0, barLimit - shown.length);
  const left = rows.length - shown.length + missed.length - shownMissed.length;
  const progress = { ...progressOf(applied, counts), resources };
  return html`<section class="resources" aria-labelledby="resources-title">
    <h2 id="resources-title">Resources</h2>
    <p class="soft">${resourceProgressWords(progress, isOver)}</p>
    <ol class="bars" tabindex="0" aria-labelledby="resources-title">
      ${shown.map((row) => rowView(row, isReplaced(row), scale))} ${shownMissed.map(missedView)}
    </ol>
    ${
      left === 0
        ? null
        : html`<p class="soft">
            … and ${left.toLocaleString("en")} more. The log has all that terraform reached.
          </p>`
    }
  </section>`;
}

/** All that fail or are under way come first; the order stays that of their starts. */
function mostInteresting(rows: readonly ChangedResource[]): readonly ChangedResource[] {
  if (rows.length <= barLimit) return rows;
  const wanted = [
    ...rows.filter(({ state }) => state !== "done"),
    ...rows.filter(({ state }) => state === "done"),
  ];
  const kept = new Set(wanted.slice(0, barLimit));
  return rows.filter((row) => kept.has(row));
}

interface Scale {
  readonly from: number;
  readonly length: number;
  readonly until: number;
  /** Nothing will end any more. */
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

/** Whether both halves of a replacement have begun. */
const isReplacement = (changes: ChangedResource["changes"]): boolean =>
  changes.length > 1 && changes.some(({ action }) => action === "delete");

/** `isReplaced`: also if only the first half of its replacement has begun. */
function rowView(row: ChangedResource, isReplaced: boolean, scale: Scale): Html {
  const { address, changes, state } = row;
  const last = changes.at(-1) as ResourceChange;
  const failed = changes.find(({ isFailed }) => isFailed) ?? last;
  const [sign, word] = words[last.action];
  return html`<li class="${state}">
    <span
      class="sign ${isReplaced ? "replace" : last.action}"
      role="img"
      aria-label="${isReplaced ? "replace" : word}"
      >${isReplaced ? "±" : sign}</span
    >
    <a href="${linesOf(failed)}" title="${visible(address)}"><bdi>${visible(address)}</bdi></a>
    <svg viewBox="0 0 ${width} 10" preserveAspectRatio="none" aria-hidden="true">
      <a href="${linesOf(failed)}" tabindex="-1">
        <rect class="whole" width="${width}" height="10"></rect>
      </a>
      ${changes.map((change) => html`<a href="${linesOf(change)}" tabindex="-1">${bar(change, scale)}</a>`)}
      ${isBetween(row, scale) ? rect("replace running", last.ended_at ?? scale.until, scale.until, scale) : null}
    </svg>
    <span class="took">${took(row, scale)}</span>
  </li>`;
}

/** The way to the lines from its start to its end, or to that of its failure. */
const linesOf = ({ chunk, lastChunk }: ResourceChange): string =>
  lastChunk === null ? `#C${chunk}` : `#C${chunk}-C${lastChunk}`;

/** A resource of the plan of which the runner reported nothing. */
function missedView({ address, action, outcome }: ResourceOutcome): Html {
  const [sign, word] = missedSigns[action] ?? ["", action];
  return html`<li class="missed">
    <span class="sign ${action}" role="img" aria-label="${word}">${sign}</span>
    <a title="${visible(address)}"><bdi>${visible(address)}</bdi></a>
    <svg aria-hidden="true"></svg>
    <span class="took">${outcomeWords[outcome]}</span>
  </li>`;
}

const missedSigns: Partial<Record<ResourceOutcome["action"], readonly [string, string]>> = {
  create: words.create,
  update: words.update,
  delete: words.delete,
  replace: ["±", "replace"],
};

/** Whether one half of a replacement has ended and the other one has not begun. */
const isBetween = ({ state, changes }: ChangedResource, { isOver }: Scale): boolean =>
  state === "open" && !isOver && changes.every(({ ended_at }) => ended_at !== null);

function bar(change: ResourceChange, scale: Scale): Html {
  const { until, isOver } = scale;
  const look = change.isFailed
    ? "failed"
    : change.ended_at === null
      ? `${change.action} ${isOver ? "stopped" : "running"}`
      : change.action;
  return rect(look, change.started_at, change.ended_at ?? until, scale);
}

function rect(look: string, started: number, ended: number, { from, length }: Scale): Html {
  const place = (time: number): number => Math.round(((time - from) / length) * width);
  const start = Math.max(0, Math.min(place(started), width - narrowest));
  const size = Math.max(narrowest, place(ended) - start);
  return html`<rect class="${look}" x="${start}" y="0" width="${size}" height="10"></rect>`;
}

/** The halves of a replacement wait for their turn between them: only what is done counts. */
function took(row: ChangedResource, scale: Scale): string {
  const { changes, state } = row;
  const times = changes.map(({ started_at, ended_at }) => (ended_at ?? scale.until) - started_at);
  const total = times.reduce((sum, time) => sum + Math.max(0, time), 0);
  // Terraform prints a failure only when all others have ended, and no time with it.
  if (state === "failed")
    return `failed within ${lengthOfTime(Math.max(1, Math.ceil(total / 1000)))}`;
  const length = lengthOfTime(Math.round(total / 1000));
  if (state === "done") return length;
  if (scale.isOver) return "not finished";
  return isBetween(row, scale) ? "waits" : `for ${length}`;
}
