/** The table of every bench: what is compared, the figure, the goal, and whether it is met. */
import { appendFileSync } from "node:fs";

export interface Figure {
  readonly row: string;
  readonly what: string;
  readonly value: number;
  readonly goal: number;
  /** Whether a larger or a smaller value is the better one. */
  readonly better: "larger" | "smaller";
  readonly more?: string;
}

/** Prints the figures. Most are ratios within one run, because machines differ. */
export function printTable(title: string, figures: readonly Figure[]): void {
  hand(figures);
  console.log(`${title}\n`);
  const rows = figures.map(({ row, what, value, goal, better, more = "" }) => [
    row,
    what,
    value.toFixed(2),
    `${better === "larger" ? "≥" : "≤"} ${goal}`,
    (better === "larger" ? value >= goal : value <= goal) ? "met" : "SHORT",
    more,
  ]);
  const all = [["row", "figure", "value", "goal", "", ""], ...rows];
  const widths = all[0]!.map((_, column) => Math.max(...all.map((line) => line[column]!.length)));
  for (const line of all)
    console.log(
      line
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join("  ")
        .trimEnd(),
    );
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Where printed figures are also written, one line of JSON each. */
const fileVariable = "WINDLASS_BENCH_FIGURES";

/** Also writes the figures to the file that the environment names. */
function hand(figures: readonly Figure[]): void {
  const file = process.env[fileVariable];
  if (file === undefined) return;
  for (const { row, what, value, better } of figures)
    appendFileSync(file, `${JSON.stringify({ row, what, value, better })}\n`);
}

/** The environment of a bench whose figures are written to a file. */
export const handingTo = (file: string): NodeJS.ProcessEnv => ({
  ...process.env,
  [fileVariable]: file,
});
