/** Reads from terraform's output why it failed, for the job's `error_message` and `failure`. */
import { open } from "node:fs/promises";
import { kibibyte } from "../../../common/units.ts";
import type { FailureKind } from "../../../protocol/job-failure.ts";
import { failureVariablesLimit } from "../../../protocol/limits.ts";
import { StepFailedError } from "../context.ts";
import { variablesFile } from "../../../common/terraform-diagnostics.ts";
import { withoutControlSequences } from "../../../common/control-sequences.ts";

/** Errors are on stderr, which is short; the output of a provider that floods it is cut here. */
const readLimit = 256 * kibibyte;
const messageLimit = 2000;

/**
 * Such as `apply failed (exit code 1): main.tf:6: … (and 2 more errors, see the log)`, then the
 * note.
 */
export async function failureOf(
  step: string,
  end: { readonly code: number; readonly stderr: string },
  note = "",
): Promise<StepFailedError> {
  const summary = `${step} failed (exit code ${end.code})`;
  const errors = errorsIn(await readPart(end.stderr, () => 0));
  const failure = { summary, ...causeIn(errors) };
  const [first] = errors;
  if (first === undefined) return new StepFailedError(`${summary}${note}`, { failure });
  const named = namedErrors(errors);
  const more = errors.length - named.length;
  const rest =
    more === 0 ? "" : ` (and ${more} more ${more === 1 ? "error" : "errors"}, see the log)`;
  return new StepFailedError(`${summary}: ${named.join(" ")}${rest}${note}`, { failure });
}

/** Says of a plan of a pull request why a variable has no value, if the server withheld it. */
export function ofWithheld(
  error: StepFailedError,
  withheld: readonly string[] = [],
): StepFailedError {
  const { kind, variables: missed = [] } = error.failure ?? {};
  const variables = missed.filter((name) =>
    [name, `TF_VAR_${name}`].some((one) => withheld.includes(one)),
  );
  if (kind !== "missing_variables" || variables.length === 0) return error;
  const summary = `plan failed: the values of ${variables.join(", ")} are withheld from plans of pull requests`;
  return new StepFailedError(
    `${summary}. follow.values of the configuration decides which values they get ("none", "plain" or "all"). ${error.message}`,
    { failure: { kind: "values_withheld" satisfies FailureKind, summary, variables } },
  );
}

/** The name of a variable without a value, or with one of a wrong type. */
const missing =
  /No value for required variable[^"]{1,100}input variable "([\w-]{1,100})" is not set/;
const unsuitable = /The given value is not suitable for var\.([\w-]{1,100})/;
/** Terraform refuses a plan of an earlier state, and changes nothing. */
const overtaken = /Saved plan (is stale|does not match the given state)/;

/** Terraform gives its reasons only as text. */
function causeIn(errors: readonly string[]): { kind: FailureKind; variables?: string[] } {
  if (errors.some((error) => overtaken.test(error))) return { kind: "plan_overtaken" };
  const [unset, wrong] = [missing, unsuitable].map((form) => namesIn(errors, form));
  if (unset?.length) return { kind: "missing_variables", variables: unset };
  if (wrong?.length) return { kind: "unsuitable_variables", variables: wrong };
  return { kind: "command" };
}

const namesIn = (errors: readonly string[], form: RegExp): string[] =>
  [...new Set(errors.flatMap((error) => form.exec(error)?.[1] ?? []))].slice(
    0,
    failureVariablesLimit,
  );

/** Returns the first error; if it is a missing variable, all of these, as far as there is room. */
function namedErrors(errors: readonly string[]): string[] {
  const [first = ""] = errors;
  if (!missing.test(first)) return [first];
  let room = messageLimit;
  return errors
    .filter((error) => missing.test(error))
    .filter((error, index) => (room -= error.length + 1) >= 0 || index === 0);
}

/**
 * Returns the errors, each once, as `file:line: address: summary: detail`, as far as terraform
 * prints them; without any, the last lines.
 */
export function errorsIn(stderr: string): string[] {
  const frame = withoutControlSequences(stderr).split("\n");
  const lines = frame.map((line) => line.replace(/^[│╷╵]\s?/u, "").trimEnd());
  const errors: string[][] = [];
  let current: string[] | undefined;
  let isFramed = false;
  for (const [index, line] of lines.entries()) {
    const edge = /^[╷╵]/u.exec(frame[index] ?? "")?.[0];
    if (edge !== undefined) [isFramed, current] = [edge === "╷", undefined];
    const summary = /^Error: (.*)/.exec(line)?.[1];
    // A second error in the same frame is the cause, quoted by the first.
    if (summary !== undefined && !(isFramed && current)) errors.push((current = [summary]));
    else current?.push(line);
  }
  if (errors.length === 0) {
    const last = lines.filter((line) => line.trim() !== "").slice(-3);
    return last.length === 0 ? [] : [cut(last.join(" "))];
  }
  const all = [...new Set(errors.map(oneLine))];
  const real = all.filter((error) => !announcement.test(error));
  return real.length > 0 ? real.toSorted((a, b) => isHalt(a) - isHalt(b)) : all;
}

/** What terraform says of each resource that an interrupt has stopped: the causes come first. */
const isHalt = (error: string): number => Number(error === "execution halted");

/** An error of `init` that only says that others follow. */
const announcement = /^\S+ encountered problems during initiali[sz]ation, including problems/;

function oneLine(lines: string[]): string {
  // A long summary is wrapped; it ends at the first empty line.
  const end = lines.indexOf("");
  const summary = lines.slice(0, end < 0 ? 1 : end).join(" ");
  const rest = lines.slice(end < 0 ? 1 : end).join("\n");
  const place = /^ +on (.*?) line (\d+)/m.exec(rest);
  const address = /^ +with (.*),$/m.exec(rest)?.[1];
  const detail = rest
    // The place, and the quoted lines of code.
    .replace(/^ +(on .*? line \d+|with .*,$).*$\n?/gm, "")
    .replace(/^ +(\d+:|├|│|\(source code not available\)).*$\n?/gmu, "")
    .replace(/\s+/g, " ")
    .trim();
  // Values come in a file of the agent, which is no place that a user knows.
  const isOfAgent = place?.[1]?.endsWith(`/${variablesFile}`);
  const where = place === null || isOfAgent ? undefined : `${place[1]}:${place[2]}`;
  const text = summary.replace(/[.:]$/, "");
  return cut([where, address, text, detail].filter(Boolean).join(": "));
}

const cut = (text: string): string =>
  text.length <= messageLimit ? text : `${text.slice(0, messageLimit)}…`;

/** Whether terraform was interrupted a second time: the exit code is 1 as after the first. */
export const saysInterruptedTwice = async (stderr: string): Promise<boolean> =>
  /^Two interrupts received\. /m.test(withoutControlSequences(await readEnd(stderr)));

const readEnd = (path: string): Promise<string> => readPart(path, (size) => size - readLimit);

async function readPart(path: string, from: (size: number) => number): Promise<string> {
  const file = await open(path);
  try {
    const position = Math.max(0, from((await file.stat()).size));
    const { buffer, bytesRead } = await file.read(Buffer.alloc(readLimit), 0, readLimit, position);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}
