/** How the client talks: data on stdout, talk on stderr, colours only where a terminal shows them, and quiet when the reader leaves. */
import { stripVTControlCharacters, styleText } from "node:util";
import stringWidth from "string-width";

/** An end that the user can do something about: printed as one line, without a stack. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly exitCode: number;

  constructor(message: string, exitCode = 1, cause?: unknown) {
    super(message, { cause });
    this.exitCode = exitCode;
  }
}

type Style = Parameters<typeof styleText>[0];

/** The text in a style, plain when stdout is no terminal or NO_COLOR is set. */
export const styled = (style: Style, text: string): string =>
  styleText(style, text, { stream: process.stdout });

/** Whether stdout shows colours, judged exactly as `styled` judges it. */
const showsColours = (): boolean => styled("bold", "x") !== "x";

/** Writes one line to stdout: what the user asked for. */
export function print(line = ""): void {
  process.stdout.write(`${line}\n`);
}

/** Writes one line to stderr: what explains, warns or fails. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/**
 * Calls `leave` when nobody reads stdout or stderr any more (`windlass … | head`): Node would throw an EPIPE at the next
 * write. Other errors of the two are thrown as they are.
 */
export function whenReaderLeaves(leave: () => void): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.removeAllListeners("error");
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
      leave();
    });
  }
}

/** Rows as lines, each column as wide as its widest cell; the last one is not padded. */
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

/** Rows that fit into the terminal: the widest columns are cut, but never the last one, which is the id. Unchanged in a pipe. */
export function fitted(
  rows: readonly (readonly string[])[],
  columns = (process.stdout.isTTY && process.stdout.columns) || Infinity,
): readonly (readonly string[])[] {
  const widths = (rows[0] ?? []).map((_, at) =>
    Math.max(...rows.map((row) => width(row[at] ?? ""))),
  );
  let excess = widths.reduce((sum, one) => sum + one + 2, -2) - columns;
  while (excess > 0) {
    const widest = Math.max(...widths.slice(0, -1));
    if (!(widest > narrowest)) break;
    widths[widths.indexOf(widest)] = widest - 1;
    excess--;
  }
  return rows.map((row) => row.map((cell, at) => cut(cell, widths[at] ?? 0)));
}

/** What a column is never cut below. */
const narrowest = 12;

/** The text if it fits into so many columns, else as much of it as does, and an ellipsis. */
export function cut(text: string, columns: number): string {
  if (width(text) <= columns) return text;
  let shown = "";
  let left = columns - 1;
  for (const { segment } of characters.segment(stripVTControlCharacters(text))) {
    left -= width(segment);
    if (left < 0) break;
    shown += segment;
  }
  return `${shown}…`;
}

/** Of people: an emoji of several code points is one. */
const characters = new Intl.Segmenter("en");

/** Somebody else's text on one line of a table: without control characters, its colours left alone. */
export const clean = (text: string): string => logLine(text.replaceAll(/[\r\n\t]+/g, " "));

/** Columns on the screen: wide characters take two, accents of their own and colours none. */
const width = (cell: string): number => stringWidth(cell);

/**
 * A line of a log as a terminal may safely show it: colours stay where they are shown, every other control sequence goes, because
 * a log is somebody else's text and could move the cursor or write the clipboard.
 */
export function logLine(line: string, colours = showsColours()): string {
  const shown = line.split("\r").findLast((part) => part !== "") ?? "";
  if (!colours) return withoutControls(stripVTControlCharacters(shown));
  const pieces = shown.split(sgr).map((piece, index) => (index % 2 === 1 ? piece : plain(piece)));
  return pieces.join("") + (pieces.length > 1 ? "\u001b[0m" : "");
}

// eslint-disable-next-line no-control-regex -- the escape character is what this is about
const sgr = /(\u001b\[[\d;:]*m)/;
// eslint-disable-next-line no-control-regex -- likewise
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

const withoutControls = (text: string): string => text.replaceAll(controls, "");
const plain = (text: string): string => withoutControls(stripVTControlCharacters(text));
