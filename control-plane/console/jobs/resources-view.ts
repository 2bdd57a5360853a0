/** An apply as a waterfall: a bar for each resource on an axis of time, by its start. */
import type { Job, ResourceOutcome } from "../../../protocol/jobs.ts";
import type { PlanSummary } from "../../../protocol/plan-summary.ts";
import { visible } from "../../../protocol/plan-text.ts";
import { outcomeWords, resourceProgressWords } from "../../../protocol/words.ts";
import { criticalPath, type CriticalPath } from "../../domain/critical-path.ts";
import { withoutKeys } from "../../domain/resource-graph.ts";
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
import { count, lengthOfTime, shortTime } from "../page/words.ts";

/** Resources with a bar; the log has all. */
const barLimit = 300;

/** Empty until terraform changes something. Of an apply that failed, also what it did not reach. */
export function resourcesView(
  { list, until }: Changes,
  plan: PlanSummary | null,
  job: Pick<Job, "status" | "ended_at" | "outcome_unknown">,
): Html | null {
  if (list.length === 0) return null;
  const { changes = [], counts = null, graph } = plan ?? {};
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
  const path = pathOf(rows, graph, until);
  const critical = new Set(path.spans.map(({ change }) => change));
  const ticks = ticksOf(scale.length);
  return html`<section class="resources" aria-labelledby="resources-title">
    <h2 id="resources-title">Resources</h2>
    <p class="soft">
      ${resourceProgressWords(progress, isOver)} · ${isOver ? "took" : "for"}
      ${shortTime(scale.length)}${path.spans.length === 0 ? null : html` · ${pathWords(path, isOver)}`}
    </p>
    <div class="bars" tabindex="0" role="region" aria-labelledby="resources-title">
      <div class="axis" aria-hidden="true">
        <svg>
          ${ticks.map((tick) => (tick > 0.95 * scale.length ? null : html`<text x="${percent(tick / scale.length)}" y="1.2em">${shortTime(tick)}</text>`))}
        </svg>
      </div>
      ${phasesView(rows, scale)}
      <div class="rows">
        <svg class="guides" aria-hidden="true">
          ${ticks.map((tick) => line("tick", [tick / scale.length, "0"], [tick / scale.length, "100%"]))}
          ${linksOf(path, shown, scale)}
        </svg>
        <ol aria-labelledby="resources-title">
          ${shown.map((row) => rowView(row, isReplaced(row), critical, scale))}
          ${shownMissed.map(missedView)}
        </ol>
      </div>
    </div>
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

type Path = CriticalPath<{
  readonly address: string;
  readonly isDelete: boolean;
  readonly from: number;
  readonly to: number;
  readonly change: ResourceChange;
}>;

function pathOf(
  rows: readonly ChangedResource[],
  graph: PlanSummary["graph"],
  until: number,
): Path {
  const needs = new Map(graph?.map((one) => [one.address, new Set(one.needs)]));
  const spans = rows.flatMap(({ changes }) =>
    changes.map((change) => {
      const { address, action, started_at, ended_at } = change;
      const isDelete = action === "delete";
      return { address, isDelete, from: started_at, to: ended_at ?? until, change };
    }),
  );
  return criticalPath(
    spans,
    graph &&
      ((address, other) => needs.get(withoutKeys(address))?.has(withoutKeys(other)) ?? false),
  );
}

function pathWords({ spans, isByNeeds }: Path, isOver: boolean): Html {
  const why = isByNeeds
    ? "By what each resource needs in the plan"
    : "By time: each began when the one before it ended";
  const total = spans.at(-1)!.to - spans[0]!.from;
  return html`<span class="path" title="${why}"
    >critical path${isOver ? "" : " so far"}: ${count(spans.length, "change")},
    ${shortTime(total)}</span
  >`;
}

/** From each change of the path to the one that waited for it, across the rows between them. */
function linksOf({ spans }: Path, shown: readonly ChangedResource[], scale: Scale): Html[] {
  const indexOf = new Map(shown.map(({ address }, index) => [address, index]));
  const middle = (address: string): string | undefined => {
    const index = indexOf.get(address);
    return index === undefined ? undefined : `${round((index + 0.5) * rowHeight)}em`;
  };
  return spans.slice(1).flatMap((next, index) => {
    const before = spans[index]!;
    const [y, below] = [middle(before.address), middle(next.address)];
    if (y === undefined || below === undefined) return [];
    const x = placeOf(next.from, scale);
    return [line("link", [placeOf(before.to, scale), y], [x, y]), line("link", [x, y], [x, below])];
  });
}

/** In em, as in the style sheet. */
const rowHeight = 2;

/** Seconds between two ticks. */
const steps = [
  0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400,
];
const tickLimit = 8;

/** Returns round times in ms, from 0. */
function ticksOf(length: number): number[] {
  const step = 1000 * (steps.find((one) => one * 1000 * tickLimit >= length) ?? 86_400);
  return Array.from({ length: Math.floor(length / step) + 1 }, (_, index) => index * step);
}

const words: Readonly<Record<ResourceChange["action"], readonly [sign: string, word: string]>> = {
  read: ["↓", "read"],
  import: ["→", "import"],
  delete: ["−", "destroy"],
  update: ["~", "change"],
  create: ["+", "create"],
};

/** From the first to the last change of each kind; nothing where there is one kind only. */
function phasesView(rows: readonly ChangedResource[], scale: Scale): Html | null {
  const phases = Map.groupBy(
    rows.flatMap(({ changes }) => changes),
    ({ action }) => action,
  );
  if (phases.size < 2) return null;
  return html`<ul class="phases" aria-label="Phases">
    ${Object.entries(words).map(([action, [sign, word]]) => {
      const some = phases.get(action as ResourceChange["action"]);
      if (!some) return null;
      const start = Math.min(...some.map(({ started_at }) => started_at));
      const end = Math.max(...some.map(({ ended_at }) => ended_at ?? scale.until));
      return html`<li>
        <span class="sign ${action}" aria-hidden="true">${sign}</span>
        <span class="name">${word} <span class="soft">${some.length}</span></span>
        <svg class="lane" aria-hidden="true">${rect(action, start, end, scale)}</svg>
        <span class="took">${startOf(start, scale)}${shortTime(end - start)}</span>
      </li>`;
    })}
  </ul>`;
}

/** For those who do not see the axis. */
const startOf = (start: number, { from }: Scale): Html =>
  html`<span class="unseen">from ${shortTime(start - from)}, </span>`;

/** Whether both halves of a replacement have begun. */
const isReplacement = (changes: ChangedResource["changes"]): boolean =>
  changes.length > 1 && changes.some(({ action }) => action === "delete");

/** `isReplaced`: also if only the first half of its replacement has begun. */
function rowView(
  row: ChangedResource,
  isReplaced: boolean,
  critical: ReadonlySet<ResourceChange>,
  scale: Scale,
): Html {
  const { address, changes, state } = row;
  const last = changes.at(-1) as ResourceChange;
  const failed = changes.find(({ isFailed }) => isFailed) ?? last;
  const [sign, word] = words[last.action];
  const isCritical = changes.some((change) => critical.has(change));
  return html`<li class="${state}${isCritical ? " critical" : ""}">
    <span
      class="sign ${isReplaced ? "replace" : last.action}"
      role="img"
      aria-label="${isReplaced ? "replace" : word}${isCritical ? ", on the critical path" : ""}"
      >${isReplaced ? "±" : sign}</span
    >
    <a class="name" href="${linesOf(failed)}" title="${visible(address)}"
      ><bdi>${visible(address)}</bdi></a
    >
    <svg class="lane" aria-hidden="true">
      <a href="${linesOf(failed)}" tabindex="-1">
        <rect class="whole" width="100%" height="100%"></rect>
      </a>
      ${changes.map((change) => html`<a href="${linesOf(change)}" tabindex="-1">${bar(change, critical, scale)}</a>`)}
      ${isBetween(row, scale) ? rect("replace running", last.ended_at ?? scale.until, scale.until, scale) : null}
    </svg>
    <span class="took">${startOf(changes[0]!.started_at, scale)}${took(row, scale)}</span>
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
    <span class="name" title="${visible(address)}"><bdi>${visible(address)}</bdi></span>
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

function bar(change: ResourceChange, critical: ReadonlySet<ResourceChange>, scale: Scale): Html {
  const { until, isOver, from } = scale;
  const { action, started_at, ended_at, isFailed } = change;
  const end = ended_at ?? until;
  const look = isFailed
    ? "failed"
    : ended_at === null
      ? `${action} ${isOver ? "stopped" : "running"}`
      : action;
  const times = `${shortTime(started_at - from)} to ${ended_at === null ? "now" : shortTime(end - from)}`;
  return html`<title>${words[action][1]}, ${times}</title>
    ${rect(critical.has(change) ? `${look} critical` : look, started_at, end, scale)}`;
}

/** A bar of a short change can still be seen. */
const narrowest = 0.006;

function rect(look: string, started: number, ended: number, scale: Scale): Html {
  const start = Math.min(placeOf(started, scale), 1 - narrowest);
  const size = Math.max(narrowest, placeOf(ended, scale) - start);
  return html`<rect
    class="${look}"
    x="${percent(start)}"
    y="25%"
    width="${percent(size)}"
    height="50%"
    rx="2"
  ></rect>`;
}

/** Where a time is on the axis, from 0 to 1. */
const placeOf = (time: number, { from, length }: Scale): number =>
  Math.min(1, Math.max(0, (time - from) / length));

type Point = readonly [x: number, y: string];

const line = (look: string, [x1, y1]: Point, [x2, y2]: Point): Html =>
  html`<line class="${look}" x1="${percent(x1)}" y1="${y1}" x2="${percent(x2)}" y2="${y2}" />`;

const round = (number: number): number => Math.round(number * 100) / 100;

const percent = (part: number): string => `${round(part * 100)}%`;

/** The halves of a replacement wait for their turn between them: only what is done counts. */
function took(row: ChangedResource, scale: Scale): string {
  const { changes, state } = row;
  const times = changes.map(({ started_at, ended_at }) => (ended_at ?? scale.until) - started_at);
  const total = times.reduce((sum, time) => sum + Math.max(0, time), 0);
  // Terraform prints a failure only when all others have ended, and no time with it.
  if (state === "failed")
    return `failed within ${lengthOfTime(Math.max(1, Math.ceil(total / 1000)))}`;
  const length = shortTime(total);
  if (state === "done") return length;
  if (scale.isOver) return "not finished";
  return isBetween(row, scale) ? "waits" : `for ${length}`;
}
