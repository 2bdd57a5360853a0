/** The last runs of a configuration as bars: the height is the duration, the colour the outcome. */
import { changesText, failedChecksWords, jobTypeWords } from "../../../protocol/words.ts";
import { time } from "../../domain/moments.ts";
import type { Run } from "../../services/jobs/runs.ts";
import { html, type Html } from "../page/html.ts";
import { howLong, plainTime, statusWord } from "../page/words.ts";

/** Widths and heights in pixels. */
const [step, bar, tallest, shortest] = [7, 5, 22, 4];

/** The strip, oldest run first, and in words what became of them. */
export const runStrip = (configuration: string, runs: readonly Run[], now: string): Html => {
  if (runs.length === 0) return html`<span class="soft">No run yet</span>`;
  const width = runs.length * step;
  return html`<span class="strip"
    ><svg viewBox="0 0 ${width} ${tallest}" width="${width}" height="${tallest}" aria-hidden="true">
      ${barsOf(runs, now).map(
        ({ run, x, height }) =>
          html`<rect
            class="${lookOf(run)}"
            x="${x}"
            y="${tallest - height}"
            width="${bar}"
            height="${height}"
            ><title data-time="${time(run.created_at)}">${runInWords(run, now)}</title></rect
          >`,
      )}</svg
    ><a href="/jobs?configuration=${configuration}">${totalOf(runs)}</a></span
  >`;
};

/** Without details of each run: a page has many strips and may be drawn every two seconds. */
export const shortStrip = (runs: readonly Run[] = [], now: string): Html | null => {
  if (runs.length === 0) return null;
  return html`<svg class="short-strip" viewBox="0 0 ${runs.length * step} ${tallest}" role="img">
    <title>Last runs: ${totalOf(runs)}</title>
    ${shapesOf(runs, 0, now)}
  </svg>`;
};

/** A strip that is as wide as its place, with a mark for each run that is still to come. */
export const wideStrip = (runs: readonly Run[], slots: number, now: string): Html => {
  const free = slots - runs.length;
  const marks = Array.from(
    { length: free },
    (_, slot) => `M${slot * step} ${tallest}v-2h${bar}v2z`,
  );
  return html`<svg
    class="wide-strip"
    viewBox="0 0 ${slots * step - (step - bar)} ${tallest}"
    preserveAspectRatio="none"
    role="img"
  >
    <title>${runs.length === 0 ? "No run yet" : `Last runs: ${totalOf(runs)}`}</title>
    ${free === 0 ? null : html`<path d="${marks.join("")}"></path>`}
    ${shapesOf(runs, free * step, now)}
  </svg>`;
};

/** One shape for each outcome. */
const shapesOf = (runs: readonly Run[], start: number, now: string): Html[] =>
  [...Map.groupBy(barsOf(runs, now), ({ run }) => lookOf(run))].map(([look, bars]) => {
    const lines = bars.map(
      ({ x, height }) => `M${start + x} ${tallest}v-${height}h${bar}v${height}z`,
    );
    return html`<path class="${look}" d="${lines.join("")}"></path>`;
  });

/** The class that colours a run. */
export const lookOf = ({ status, failed_checks }: Run): string =>
  failed_checks ? "WARNING" : status;

/** Where the bars are, oldest run first. */
function barsOf(runs: readonly Run[], now: string) {
  const longest = Math.max(...runs.map((run) => durationOf(run, now)));
  return runs.toReversed().map((run, index) => {
    // The square root keeps short runs visible beside a long one.
    const part = longest === 0 ? 0 : Math.sqrt(durationOf(run, now) / longest);
    return { run, x: index * step, height: Math.round(shortest + part * (tallest - shortest)) };
  });
}

/** In milliseconds. */
export const durationOf = ({ started_at, ended_at }: Run, now: string): number =>
  started_at === null ? 0 : Math.max(0, (ended_at ?? Date.parse(now)) - started_at);

export const runInWords = (run: Run, now: string): string => {
  const { status, started_at, changes, created_by, created_at } = run;
  return [
    `${jobTypeWords(run.job_type, run)} ${statusWord(status).toLowerCase()}`,
    ...(started_at === null ? [] : [howLong(durationOf(run, now))]),
    ...(changes === null ? [] : [changesText(changes)]),
    ...failedChecksWords(run),
    ...(created_by === null ? [] : [created_by]),
    plainTime(time(created_at)),
  ].join(" · ");
};

/** `27 of 30 succeeded, 3 failed, 1 running`: in words, because not every reader sees colours. */
export const totalOf = (runs: readonly Run[]): string => {
  const of = (status: Run["status"]) => runs.filter((run) => run.status === status).length;
  const ended = runs.length - of("PROCESSING") - of("QUEUED");
  const others = [
    [runs.filter((run) => run.failed_checks).length, "with failed checks"],
    [of("FAILED"), "failed"],
    [of("CANCELLED"), "cancelled"],
    [of("PROCESSING"), "running"],
    [of("QUEUED"), "waiting"],
  ] as const;
  return [
    ...(ended === 0 ? [] : [`${of("SUCCESS")} of ${ended} succeeded`]),
    ...others.filter(([runs]) => runs > 0).map(([runs, word]) => `${runs} ${word}`),
  ].join(", ");
};
