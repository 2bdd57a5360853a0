/** What to do when a job waits because there is no worker at all. */
import type { Job } from "../../protocol/jobs.ts";
import { ifReadable } from "../api/failures.ts";
import { teamWords } from "../api/team.ts";
import type { Run } from "../run.ts";
import { lesserRole } from "../teams/acting.ts";

/** Returns whether there is no worker, after it has said how to add one. */
export async function adviseWorker(run: Run, { waiting_reason }: Job): Promise<boolean> {
  if (waiting_reason !== "no_matching_worker" || run.json) return false;
  const listed = await ifReadable(run.api.call("listWorkers"));
  if (listed?.workers.length !== 0) return false;
  const { team, server } = run.api;
  const where = team ? ` in the team "${team}"` : "";
  const isAdmin = (await lesserRole(run, "admin")) === undefined;
  const advice = isAdmin
    ? [
        `There is no worker${where} yet, and jobs wait for one. To add one, create a token:`,
        `  windlass tokens create${teamWords(team)}`,
        "and start a runner with it, on a machine where terraform may run:",
        `  WINDLASS_URL=${server} WINDLASS_REGISTRATION_TOKEN=… windlass agent`,
      ]
    : [`There is no worker${where} yet, and jobs wait for one. Ask an admin to add one.`];
  run.done(
    [...advice, "This command keeps waiting. Ctrl-C is safe: the job stays queued."].join("\n"),
  );
  return true;
}
