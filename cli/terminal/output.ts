/** Output of the client: data on stdout, messages on stderr, colours only on a terminal. */
import { styleText } from "node:util";
import { withoutControlSequences, withVisibleDirections } from "../../common/control-sequences.ts";
import { fileErrorText } from "../../common/file-errors.ts";

/** An error for the user: printed without a stack, and mapped to an exit code. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly exitCode: number;

  constructor(message: string, exitCode = 1, cause?: unknown) {
    super(message, { cause });
    this.exitCode = exitCode;
  }
}

/**
 * The server's messages may begin in lower case, and become sentences, but for names and addresses.
 */
export const errorLine = (message: string): string =>
  `windlass: ${message.replace(/^[a-z]+(?=[ ,])/, (word) => word.charAt(0).toUpperCase() + word.slice(1))}`;

type Style = Parameters<typeof styleText>[0];

/** Returns the text in a style; plain if stdout is not a terminal or NO_COLOR is set. */
export const styled = (style: Style, text: string): string =>
  styleText(style, text, { stream: process.stdout });

export const showsColours = (): boolean => styled("bold", "x") !== "x";

/** The result of the command. The escapes mean the same in JSON, where they stand only in texts. */
export function print(line = ""): void {
  process.stdout.write(`${withVisibleDirections(line)}\n`);
}

/** Writes one line to stderr: a note, a warning or an error. A terminal gets it wrapped. */
export function say(line: string): void {
  const shown = process.stderr.isTTY ? wrapped(line, process.stderr.columns || 80) : line;
  process.stderr.write(`${withVisibleDirections(shown)}\n`);
}

/** A command at the end of a line stays whole on its own line, so that it can be copied. */
export const wrapped = (text: string, columns: number): string =>
  text
    .split("\n")
    .flatMap((line) => {
      if (withoutControlSequences(line).length <= columns) return [line];
      const [, indent = "", prose = "", command = ""] =
        /^( *)(.*?)((?:(?<=^| )windlass .*)?)$/.exec(line) ?? [];
      const lines: string[] = [];
      for (const word of [...prose.split(" "), command].filter((one) => one !== "")) {
        const last = lines.at(-1);
        const longer = last === undefined ? indent + word : `${last} ${word}`;
        if (last === undefined || withoutControlSequences(longer).length <= columns)
          lines.splice(-1, 1, longer);
        else lines.push(indent + word);
      }
      return lines;
    })
    .join("\n");

/**
 * Calls `close` where Node would throw at the next write: with exit code 0 if the reader has gone
 * (`windlass … | head`), else with the reason, such as a full disk.
 */
export function onOutputClosed(close: (error: CliError) => void): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.removeAllListeners("error");
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") return close(new CliError("", 0));
      const name = stream === process.stdout ? "output" : "errors";
      const message = `The ${name} of the command cannot be written: ${fileErrorText(error)}.`;
      return close(new CliError(message, 1, error));
    });
  }
}

/** Makes untrusted text safe for one line of a table: no control characters except colours. */
export const clean = (text: string): string => cleanLine(text.replaceAll(/[\r\n\t]+/g, " "));

/** Keeps tabs, for a value at the end of a line, which people copy. */
export const cleanLine = (text: string): string => logLine(text.replaceAll(/[\r\n]+/g, " "));

/**
 * Keeps only colours, if `colours` is set: a log is untrusted and could move the cursor or write to
 * the clipboard. Characters that change the direction of text become visible.
 */
export function logLine(line: string, colours = showsColours()): string {
  const shown = line.split("\r").findLast((part) => part !== "") ?? "";
  if (!colours) return withoutControls(withoutControlSequences(shown));
  const pieces = shown.split(sgr).map((piece, index) => (index % 2 === 1 ? piece : plain(piece)));
  return pieces.join("") + (pieces.length > 1 ? "\u001b[0m" : "");
}

// eslint-disable-next-line no-control-regex -- matches the escape character
const sgr = /(\u001b\[[\d;:]*m)/;
// eslint-disable-next-line no-control-regex -- matches control characters
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

const withoutControls = (text: string): string =>
  withVisibleDirections(text.replaceAll(controls, ""));
const plain = (text: string): string => withoutControls(withoutControlSequences(text));
