/** Apart from `output.ts`, which loads before a command knows whether it prints a table. */
import { createRequire } from "node:module";
import type * as StringWidth from "string-width";
import { withoutControlSequences } from "../../common/control-sequences.ts";

/** Shortens the ids in the last column as far as they stay unique, but not for a pipe. */
export function shortenIds(
  rows: readonly (readonly string[])[],
  isTerminal = process.stdout.isTTY,
): readonly (readonly string[])[] {
  if (!isTerminal) return rows;
  const ids = new Set(rows.map((row) => row.at(-1) ?? ""));
  const counts = new Map<string, number>();
  for (const id of ids) counts.set(shortOf(id), (counts.get(shortOf(id)) ?? 0) + 1);
  return rows.map((row) => {
    const id = row.at(-1) ?? "";
    return [...row.slice(0, -1), counts.get(shortOf(id)) === 1 ? shortOf(id) : id];
  });
}

/** The millisecond in which an id was made: its first 12 digits. Other text stays. */
export const shortOf = (id: string): string =>
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id) ? id.slice(0, 13) : id;

/** Formats rows as lines. Each column is as wide as its widest cell; the last is not padded. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) {
      widths[column] = Math.max(widths[column] ?? 0, width(cell));
    }
  }
  return rows.map((row) =>
    row
      .map((cell, column) =>
        column === row.length - 1 ? cell : cell + " ".repeat((widths[column] ?? 0) - width(cell)),
      )
      .join("  "),
  );
}

/** What becomes of columns, by their titles, if a table is wider than the terminal. */
export interface Fitting {
  /** Left out, the first one first, as far as needed. */
  readonly spare?: readonly string[];
  /** Shortened only after all others. */
  readonly whole?: readonly string[];
}

/**
 * Leaves out and shortens columns, except the last one with the id, until the rows fit. The first
 * row has the titles. A pipe gets all.
 */
export function fitToTerminal(
  rows: readonly (readonly string[])[],
  columns = (process.stdout.isTTY && process.stdout.columns) || Infinity,
  { spare = [], whole = [] }: Fitting = {},
): readonly (readonly string[])[] {
  const titles = rows[0] ?? [];
  const widths = titles.map((_, at) => Math.max(...rows.map((row) => width(row[at] ?? ""))));
  const isWhole = (at: number): boolean => whole.includes(titles[at] ?? "");
  const least = widths.map((one, at) =>
    at === titles.length - 1 || isWhole(at) ? one : Math.min(one, minimumWidth),
  );
  const left = spare.find((title) => titles.includes(title));
  if (left !== undefined && sumOf(least) > columns) {
    const without = titles.indexOf(left);
    const others = rows.map((row) => row.filter((_, at) => at !== without));
    return fitToTerminal(others, columns, { spare, whole });
  }
  let excess = sumOf(widths) - columns;
  for (const isLast of [false, true]) {
    while (excess > 0) {
      const cuttable = widths.slice(0, -1).map((one, at) => (isWhole(at) && !isLast ? 0 : one));
      const widest = Math.max(...cuttable);
      if (!(widest > minimumWidth)) break;
      widths[cuttable.indexOf(widest)] = widest - 1;
      excess--;
    }
  }
  return rows.map((row) => row.map((cell, at) => cut(cell, widths[at] ?? 0)));
}

/** The columns of a line, with two between each two cells. */
const sumOf = (widths: readonly number[]): number => widths.reduce((sum, one) => sum + one + 2, -2);

/** Columns are not shortened below this width. */
const minimumWidth = 12;

/** Shortens the text to the given number of columns, with an ellipsis. */
export function cut(text: string, columns: number): string {
  if (width(text) <= columns) return text;
  let shown = "";
  let left = columns - 1;
  // Splits into what people see as one character, such as an emoji of several code points.
  const characters = new Intl.Segmenter("en");
  for (const { segment } of characters.segment(withoutControlSequences(text))) {
    left -= width(segment);
    if (left < 0) break;
    shown += segment;
  }
  return `${shown}…`;
}

/**
 * Wide characters take two columns, accents and colours none. Only unusual text loads
 * `string-width`, which takes as long as the start of Node (61 ms beside 53).
 */
function width(cell: string): number {
  if (/^[ -~±−○→↓…]*$/.test(cell)) return cell.length;
  const { default: stringWidth } = load("string-width") as typeof StringWidth;
  return stringWidth(cell);
}

const load = createRequire(import.meta.url);
