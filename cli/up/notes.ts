/** What a run of `windlass up` leaves that does not end with a deployment. */
import { teamWords } from "../api/team.ts";
import type { Run } from "../run.ts";
import { CliError, say } from "../terminal/output.ts";
import { shellWord } from "../../common/shell-word.ts";

/** Adds to a failure what this run created, and how to continue or to remove it. */
export function withCreated({ api }: Run, error: unknown, what: string, remove: string): unknown {
  const note = `${what}. The same command uses it. To remove it: windlass ${remove}${teamWords(api.team)}`;
  return withNote(error, note);
}

/** Adds to a failure which fields changed at once, and which change only with a deployment. */
export function withChanged(
  { api }: Run,
  error: unknown,
  name: string,
  { changed = [], pending = [] }: { changed?: readonly string[]; pending?: readonly string[] },
): unknown {
  const notes = [
    changed.length > 0 &&
      `The configuration "${name}" keeps what this command has changed: ${namesOf(changed)}. Its next jobs use that. To see it: windlass configurations show ${shellWord(name)}${teamWords(api.team)}`,
    pending.length > 0 &&
      `The configuration "${name}" takes these over only with a deployment: files, ${namesOf(pending)}. Pass the same options to the next windlass up.`,
  ].filter((note) => note !== false);
  return notes.length === 0 ? error : withNote(error, notes.join("\n"));
}

const namesOf = (fields: readonly string[]): string =>
  fields.map((field) => field.replaceAll("_", " ")).join(", ");

function withNote(error: unknown, note: string): unknown {
  if (error instanceof CliError && error.message !== "")
    return new CliError(`${error.message}\n${note}`, error.exitCode, error.cause);
  // Ctrl-C has no message.
  say(note);
  return error;
}
