/**
 * Gives up a job that has crashed its agent again and again. Reads nothing that a configuration
 * controls: stops the job's command and reports to the control plane, so that the agent's other
 * jobs can continue.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { ReportStatus } from "../../protocol/executions.ts";
import type { JobContext } from "./context.ts";
import { interruptsOf, type Journal } from "./journal.ts";
import { openRun } from "./terraform/process.ts";

/**
 * Starts of an agent that continued the job, recorded nothing more of it and ended within a minute.
 */
export const crashLimit = 3;

/** Returns how many of the last starts in a row were such. */
export const crashesIn = ({ entries }: Journal): number =>
  entries.length - 1 - entries.findLastIndex(({ at }) => at !== "adopted");

/** Stops what still runs of the job and returns the report. */
export async function giveUp({
  journal,
  directory,
  isolation,
  settings,
}: Pick<JobContext, "journal" | "directory" | "isolation" | "settings">): Promise<ReportStatus> {
  const { run } = journal.entries.findLast((entry) => entry.at === "run") ?? {};
  const place = run === undefined ? undefined : join(directory, "runs", run);
  if (run !== undefined && place !== undefined && existsSync(join(place, "started"))) {
    const command = { directory: place, command: "", args: [], cwd: place, env: {} };
    const { apply, init } = settings.patience;
    const hasChanged = run.endsWith("-apply");
    await openRun(command).stop(hasChanged ? apply : init, interruptsOf(journal, run));
  }
  await isolation.killAll();
  const hasApplied = journal.find("run", (entry) => entry.run.endsWith("-apply")) !== undefined;
  return {
    status: "FAILED",
    error_message:
      `the agent crashed ${crashLimit} times in a row while it worked on this job and gives the job up; the last command was ${run ?? "none"}. ` +
      "The agent's own log says why it crashed. A value of the configuration may be too large for its memory",
    ...(hasApplied ? { outcome_unknown: true } : {}),
  };
}
