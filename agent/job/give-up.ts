/**
 * Gives up a job that the agent cannot continue or that crashes it: stops its command and reports,
 * without reading what a configuration controls, so that other jobs can continue.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { ReportStatus } from "../../protocol/executions.ts";
import type { JobContext } from "./context.ts";
import { revokeTokens } from "./credentials/vault-tokens.ts";
import { interruptsOf, type Journal } from "./journal.ts";
import { messageMaskerOf } from "./secrets.ts";
import { hasExited, openRun } from "./terraform/process.ts";
import { erroredState, keepState } from "./terraform/rescue.ts";

/** Starts that continued the job, recorded nothing of it and ended within a minute. */
const crashLimit = 3;

/** Returns how many of the last starts in a row were such. */
export const crashesIn = ({ entries }: Journal): number =>
  entries.length - 1 - entries.findLastIndex(({ at }) => at !== "adopted");

const isApply = (run: string): boolean => run.endsWith("-apply");

/** Whether its command may run or have applied: an error of the agent says nothing about that. */
export function hasCommand(
  { journal, directory }: Pick<JobContext, "journal" | "directory">,
  step: string,
): boolean {
  const { entries } = journal;
  const begun = entries.findIndex((entry) => entry.at === "begun" && entry.step === step);
  return entries
    .slice(begun + 1)
    .some(
      (entry) =>
        entry.at === "run" &&
        (isApply(entry.run) || !hasExited(join(directory, "runs", entry.run))),
    );
}

type GiveUpParts = Pick<
  JobContext,
  "claim" | "journal" | "directory" | "isolation" | "settings" | "workspace"
>;

/** Why the job is given up: its agent has crashed, or has failed with this error. */
export function causeOf(given: GiveUpParts, error: Error | undefined): string | undefined {
  if (crashesIn(given.journal) > crashLimit)
    return (
      `the agent crashed ${crashLimit} times in a row while it worked on this job and gives the job up. ` +
      "The agent's own log says why it crashed. A value of the configuration may be too large for its memory"
    );
  return (
    error &&
    `the agent failed again and again while it worked on this job and gives the job up: ${messageMaskerOf(given)(error.message).slice(0, 2000)}`
  );
}

/** Stops what still runs of the job and returns the report. */
export async function giveUp(given: GiveUpParts, cause: string): Promise<ReportStatus> {
  const { journal, directory, isolation, settings } = given;
  const { run } = journal.entries.findLast((entry) => entry.at === "run") ?? {};
  const place = run === undefined ? undefined : join(directory, "runs", run);
  if (run !== undefined && place !== undefined && existsSync(join(place, "started"))) {
    const command = { directory: place, command: "", args: [], cwd: place, env: {} };
    const { apply, init } = settings.patience;
    await openRun(command).stop(isApply(run) ? apply : init, interruptsOf(journal, run));
  }
  await isolation.killAll();
  // Whatever it is: an error would keep the job from ever being reported.
  const unrevoked = await revokeTokens(given).catch((error: unknown) =>
    messageMaskerOf(given)(String(error)).slice(0, 500),
  );
  const kept = unrevoked === undefined ? "" : `; Vault did not revoke its token: ${unrevoked}`;
  const error_message = `${cause}; the last command was ${run ?? "none"}${kept}`;
  const hasApplied = journal.find("run", (entry) => isApply(entry.run)) !== undefined;
  if (!hasApplied) return { status: "FAILED", error_message };
  if (journal.find("done", ({ step }) => step === "apply"))
    return { status: "FAILED", error_message: `${error_message}; its apply had succeeded` };
  const unsaved = await keepErroredState(given);
  return {
    status: "FAILED",
    error_message: `${error_message}; outcome unknown${unsaved ?? ""}`,
    outcome_unknown: true,
    ...(unsaved === undefined ? {} : { state_unsaved: true }),
  };
}

/** Keeps the state that terraform could not save. Returns the end of the message if there is one. */
async function keepErroredState(given: GiveUpParts): Promise<string | undefined> {
  const { folder } =
    given.journal.find("done", ({ facts }) => facts.folder !== undefined)?.facts ?? {};
  const file = folder === undefined ? undefined : join(folder, erroredState);
  if (file === undefined || !existsSync(file)) return undefined;
  const kept = await keepState(given, file).catch((error: unknown) => `: ${String(error)}`);
  return `; the state could not be saved${kept}`;
}
