/** The last runs of a configuration as a chart: durations above a line, changes below it. */
import { time } from "../../domain/moments.ts";
import type { Run } from "../../services/jobs/runs.ts";
import { html, type Html } from "../page/html.ts";
import { count, lengthOfTime } from "../page/words.ts";
import { durationOf, lookOf, runInWords, totalOf } from "./run-strip.ts";

/** In units of the drawing, which is stretched: so many columns, newest at the right. */
const [columns, step, bar] = [30, 10, 6];
const [height, line, tallest] = [100, 64, 60];

const kinds = [
  ["create", "create"],
  ["update", "update"],
  ["delete", "delete or replace"],
] as const;

/** Pages are read every few seconds: a column has at most five shapes. */
export const runChart = (runs: readonly Run[], now: string): Html => {
  const longest = Math.max(1, ...runs.map((run) => durationOf(run, now)));
  const most = Math.max(0, ...runs.map((run) => sum(changesOf(run))));
  return html`<figure class="run-chart">
    <figcaption>
      <strong>Last ${count(runs.length, "run")}</strong>
      <span class="soft">${totalOf(runs)}${typicalOf(runs)}</span>
    </figcaption>
    <svg viewBox="0 0 ${columns * step} ${height}" preserveAspectRatio="none" aria-hidden="true">
      <path class="line" d="M0 ${line}H${columns * step}"></path>
      ${runs.map((run, index) => {
        const x = (columns - 1 - index) * step;
        const tall = Math.max(2, Math.round((durationOf(run, now) / longest) * tallest));
        return html`<a href="/jobs/${run.id}" tabindex="-1"
          ><title data-time="${time(run.created_at)}">${runInWords(run, now)}</title
          ><path class="column" d="M${x} 0h${step}v${height}h-${step}z"></path
          ><path
            class="${lookOf(run)}"
            d="M${x + (step - bar) / 2} ${line}v-${tall}h${bar}v${tall}z"
          ></path
          >${changeBars(run, x, most)}</a
        >`;
      })}
    </svg>
    ${
      most > 0
        ? html`<p class="legend soft">
            Below the line, what each run changed:
            ${kinds.map(([kind, words]) => html`<span class="${kind}">${words}</span> `)}
            <span class="planned">only planned</span>
          </p>`
        : null
    }
  </figure>`;
};

const changesOf = ({ changes }: Run): readonly number[] =>
  changes === null ? [] : [changes.create, changes.update, changes.delete + changes.replace];

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

/** Piled downwards from the line. */
function changeBars(run: Run, x: number, most: number): Html[] {
  const total = sum(changesOf(run));
  // The square root keeps a few changes visible beside many.
  const all = Math.sqrt(total / most) * (height - line - 8);
  let y = line + 4;
  return changesOf(run).flatMap((number, index) => {
    if (number === 0) return [];
    const tall = Math.max(2, Math.round((number / total) * all));
    y += tall;
    const look = `${kinds[index]![0]}${run.job_type === "PLAN" ? " planned" : ""}`;
    return html`<path
      class="${look}"
      d="M${x + (step - bar) / 2} ${y - tall}v${tall}h${bar}v-${tall}z"
    ></path>`;
  });
}

/** How long those take that succeed: the one in the middle, and the longest. */
function typicalOf(runs: readonly Run[]): string {
  const took = runs
    .filter(({ status }) => status === "SUCCESS")
    .map((run) => Math.round(durationOf(run, "") / 1000))
    .toSorted((a, b) => a - b);
  if (took.length < 2) return "";
  const middle = took[Math.floor(took.length / 2)]!;
  return ` · typically ${lengthOfTime(middle)}, at most ${lengthOfTime(took.at(-1)!)}`;
}
