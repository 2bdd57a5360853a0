/** What a run of `windlass up` leaves that does not end with a deployment. */
import { teamWords } from "../api/team.ts";
import type { Run } from "../run.ts";
import { CliError, say } from "../terminal/output.ts";
import { shellWord } from "../terminal/shell-word.ts";

/**
 * Adds to a failure, a no or an interruption what this run created, and how to continue or to
 * remove it.
 */
export function withCreated({ api }: Run, error: unknown, what: string, remove: string): unknown {
  const note = `${what}. The next windlass up uses it. To remove it: windlass ${remove}${teamWords(api.team)}`;
  return withNote(error, note);
}

/** Adds to a failure, a no or an interruption what this run has changed at once, and what stays. */
export function withChanged(
  { api }: Run,
  error: unknown,
  name: string,
  changed: readonly string[] = [],
): unknown {
  if (changed.length === 0) return error;
  const fields = changed.map((field) => field.replaceAll("_", " ")).join(", ");
  return withNote(
    error,
    `The configuration "${name}" keeps what this command has changed: ${fields}. Its next jobs use that. To see it: windlass configurations show ${shellWord(name)}${teamWords(api.team)}`,
  );
}

function withNote(error: unknown, note: string): unknown {
  if (error instanceof CliError && error.message !== "")
    return new CliError(`${error.message}\n${note}`, error.exitCode, error.cause);
  // Ctrl-C has no message.
  say(note);
  return error;
}
