/** Compares measured figures with the recorded ones: `npm run bench -- --check`. */
import { median, type Figure } from "./table.ts";

/** A figure, as recorded: the median of several runs. */
export type Recorded = Pick<Figure, "row" | "what" | "value" | "better">;

export interface Verdict {
  readonly figure: string;
  /** Undefined: it is new. */
  readonly recorded: number | undefined;
  /** Undefined: it is no longer measured, which counts as fallen back. */
  readonly measured: number | undefined;
  /** How much worse it is than the recorded one: 0.2 is a fifth. Negative: better. */
  readonly loss: number;
  /** How much worse it may be. */
  readonly tolerance: number;
  readonly hasFallenBack: boolean;
}

/** Machines differ, and so do two runs on one of them. */
const smallestTolerance = 0.15;

export const nameOf = ({ row, what }: Pick<Figure, "row" | "what">): string => `${row} ${what}`;

/**
 * Compares the figures of some runs of a bench with recorded ones. The tolerance is how far apart
 * these runs are, so that noise fails no figure.
 */
export function compareFigures(
  recorded: readonly Recorded[],
  runs: readonly (readonly Recorded[])[],
): Verdict[] {
  const all = runs.flat();
  return [...new Set([...recorded, ...all].map(nameOf))].map((figure) => {
    const before = recorded.find((other) => nameOf(other) === figure);
    const values = all.filter((other) => nameOf(other) === figure).map(({ value }) => value);
    if (values.length === 0) return { figure, recorded: before?.value, ...missing };
    const measured = median(values);
    const spread = (Math.max(...values) - Math.min(...values)) / measured;
    const tolerance = Math.max(smallestTolerance, spread);
    const loss = before === undefined ? 0 : lossOf(before, measured);
    const hasFallenBack = loss > tolerance;
    return { figure, recorded: before?.value, measured, loss, tolerance, hasFallenBack };
  });
}

const missing = { measured: undefined, loss: 1, tolerance: 0, hasFallenBack: true } as const;

/** Twice as much of what should be small is as bad as half of what should be large. */
const lossOf = ({ value, better }: Recorded, measured: number): number =>
  1 - (better === "larger" ? measured / value : value / measured);

/** One line for each figure that has fallen back. */
export const describeLosses = (verdicts: readonly Verdict[]): string[] =>
  verdicts
    .filter(({ hasFallenBack }) => hasFallenBack)
    .map(({ figure, recorded, measured, loss, tolerance }) =>
      measured === undefined
        ? `"${figure}" is recorded, but is no longer measured.`
        : `"${figure}" has fallen back from ${recorded} to ${measured.toPrecision(3)}: ${percent(loss)} worse; up to ${percent(tolerance)} is noise.`,
    );

const percent = (part: number): string => `${Math.round(part * 100)} %`;
