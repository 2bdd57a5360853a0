/** Output of the client: data on stdout, messages on stderr, colours only on a terminal. */
import { stripVTControlCharacters, styleText } from "node:util";
import stringWidth from "string-width";

/** An error for the user: printed without a stack, and mapped to an exit code. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly exitCode: number;

  constructor(message: string, exitCode = 1, cause?: unknown) {
    super(message, { cause });
    this.exitCode = exitCode;
  }
}

type Style = Parameters<typeof styleText>[0];

/** Returns the text in a style; plain if stdout is not a terminal or NO_COLOR is set. */
export const styled = (style: Style, text: string): string =>
  styleText(style, text, { stream: process.stdout });

/** Whether `styled` adds colours. */
const showsColours = (): boolean => styled("bold", "x") !== "x";

/** Writes one line to stdout: the result of the command. */
export function print(line = ""): void {
  process.stdout.write(`${line}\n`);
}

/** Writes one line to stderr: a note, a warning or an error. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/**
 * Calls `close` when stdout or stderr is closed (`windlass … | head`), where Node would throw
 * EPIPE at the next write. Throws other errors of the two streams.
 */
export function onOutputClosed(close: () => void): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.removeAllListeners("error");
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
      close();
    });
  }
}

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

/**
 * Shortens the widest columns until the rows fit into the terminal, but never the last column,
 * which is the id. Returns the rows unchanged in a pipe.
 */
export function fitToTerminal(
  rows: readonly (readonly string[])[],
  columns = (process.stdout.isTTY && process.stdout.columns) || Infinity,
): readonly (readonly string[])[] {
  const widths = (rows[0] ?? []).map((_, at) =>
    Math.max(...rows.map((row) => width(row[at] ?? ""))),
  );
  let excess = widths.reduce((sum, one) => sum + one + 2, -2) - columns;
  while (excess > 0) {
    const widest = Math.max(...widths.slice(0, -1));
    if (!(widest > minimumWidth)) break;
    widths[widths.indexOf(widest)] = widest - 1;
    excess--;
  }
  return rows.map((row) => row.map((cell, at) => cut(cell, widths[at] ?? 0)));
}

/** Columns are not shortened below this width. */
const minimumWidth = 12;

/** Shortens the text to the given number of columns, with an ellipsis. */
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

/** Splits text into user-perceived characters; an emoji of several code points is one. */
const characters = new Intl.Segmenter("en");

/** Makes untrusted text safe for one line of a table: no control characters except colours. */
export const clean = (text: string): string => logLine(text.replaceAll(/[\r\n\t]+/g, " "));

/**
 * Returns the columns on the screen: wide characters take two, combining accents and colours none.
 */
const width = (cell: string): number => stringWidth(cell);

/**
 * Makes a log line safe for a terminal: keeps colours if `colours` is set and removes every other
 * control sequence. A log is untrusted and could move the cursor or write to the clipboard.
 */
export function logLine(line: string, colours = showsColours()): string {
  const shown = line.split("\r").findLast((part) => part !== "") ?? "";
  if (!colours) return withoutControls(stripVTControlCharacters(shown));
  const pieces = shown.split(sgr).map((piece, index) => (index % 2 === 1 ? piece : plain(piece)));
  return pieces.join("") + (pieces.length > 1 ? "\u001b[0m" : "");
}

// eslint-disable-next-line no-control-regex -- matches the escape character
const sgr = /(\u001b\[[\d;:]*m)/;
// eslint-disable-next-line no-control-regex -- matches control characters
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

const withoutControls = (text: string): string => text.replaceAll(controls, "");
const plain = (text: string): string => withoutControls(stripVTControlCharacters(text));
