/** Reads from terraform's output why it failed, for the job's `error_message`. */
import { open } from "node:fs/promises";
import { stripVTControlCharacters } from "node:util";
import { kibibyte } from "../../../common/units.ts";

/** Errors are on stderr, which is short; the output of a provider that floods it is cut here. */
const readLimit = 256 * kibibyte;
const messageLimit = 2000;

/** `apply failed (exit code 1): local-exec provisioner error: … (and 2 more errors)` */
export async function failureOf(
  step: string,
  end: { readonly code: number; readonly stderr: string },
): Promise<string> {
  const what = `${step} failed (exit code ${end.code})`;
  const errors = errorsIn(await readStart(end.stderr));
  const [first] = errors;
  if (first === undefined) return what;
  const more = errors.length - 1;
  const rest =
    more === 0 ? "" : ` (and ${more} more ${more === 1 ? "error" : "errors"}, see the log)`;
  return `${what}: ${first}${rest}`;
}

/**
 * Returns the errors of terraform's human-readable output, each as `summary: detail` on one line.
 * Without any, returns the last lines.
 */
export function errorsIn(stderr: string): string[] {
  const lines = stripVTControlCharacters(stderr)
    .split("\n")
    .map((line) => line.replace(/^[│╷╵]\s?/u, "").trimEnd());
  const errors: string[][] = [];
  let current: string[] | undefined;
  let isFramed = false;
  const frame = stripVTControlCharacters(stderr).split("\n");
  for (const [index, line] of lines.entries()) {
    const edge = /^[╷╵]/u.exec(frame[index] ?? "")?.[0];
    if (edge !== undefined) [isFramed, current] = [edge === "╷", undefined];
    const summary = /^Error: (.*)/.exec(line)?.[1];
    // A second error in the same frame is the cause, quoted by the first.
    if (summary !== undefined && !(isFramed && current)) errors.push((current = [summary]));
    else current?.push(line);
  }
  if (errors.length > 0) return errors.map(oneLine);
  const last = lines.filter((line) => line.trim() !== "").slice(-3);
  return last.length === 0 ? [] : [cut(last.join(" "))];
}

function oneLine([summary = "", ...rest]: string[]): string {
  const detail = rest
    .join("\n")
    // The location: "  on main.tf line 11, in resource …:" and the quoted lines of code.
    .replace(/^\s+on .*? line \d+.*$\n?/gm, "")
    .replace(/^\s+(\d+:|├|│).*$\n?/gmu, "")
    .replace(/\s+/g, " ")
    .trim();
  const text = summary.replace(/\.$/, "");
  return cut(detail === "" ? text : `${text}: ${detail}`);
}

const cut = (text: string): string =>
  text.length <= messageLimit ? text : `${text.slice(0, messageLimit)}…`;

async function readStart(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(readLimit), 0, readLimit, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}
