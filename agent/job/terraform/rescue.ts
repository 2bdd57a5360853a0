/** Saves a state that terraform could not save itself. */
import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { known, StepFailedError, type JobContext } from "../context.ts";
import { copyJobFile } from "../job-files.ts";
import { rescuedState } from "../workspace.ts";
import { runTerraform } from "./terraform.ts";
import { gibibyte, mebibyte } from "../../../common/units.ts";

/** For what reports or saves an apply: as long as that may stop, or a plan after a stop. */
export const resultLimit = ({ settings: { patience } }: JobContext) => ({
  usual: patience.apply.first,
  stopped: patience.plan.first,
});

/** The control plane accepts no larger state either. */
const stateLimit = 64 * mebibyte;
/** Limit for all such states on this machine. */
const rescuedLimit = gibibyte;

/** Where terraform writes a state that it can save nowhere else. */
export const erroredState = "errored.tfstate";

/** What became of a state that terraform could not save. */
interface Rescue {
  /** The end of the job's message. */
  readonly note: string;
  readonly isStateUnsaved: boolean;
}

/**
 * Terraform writes `errored.tfstate`, the only record of what was created, when it can save it
 * nowhere else. It is pushed once more, else kept in the work directory.
 */
export async function rescueState(context: JobContext): Promise<Rescue> {
  const file = join(known(context, "folder"), erroredState);
  if (!existsSync(file)) return { note: "", isStateUnsaved: false };
  const args = ["state", "push", "-lock-timeout=60s", erroredState];
  const patience = context.settings.patience.plan;
  const options = { logged: true, suffix: "-push", patience, limit: resultLimit(context) };
  if (await succeeds(runTerraform(context, "state", args, options))) return savedAfterAll(context);
  const text = `the state could not be saved${await keepState(context, file)}`;
  context.log.system(`FAILED: ${text}. Nothing else records what this job has changed.`);
  return { note: `; ${text}`, isStateUnsaved: true };
}

/** Terraform has just told the reader of the log to rescue a file, which is of no more use. */
function savedAfterAll({ log }: JobContext): Rescue {
  log.system("The state has been saved after all: nothing is left to do for errored.tfstate.");
  return { note: "; the state was saved after all", isStateUnsaved: false };
}

/** Keeps the state in the work directory. Returns where, as the end of a sentence. */
export async function keepState(
  context: Pick<JobContext, "settings" | "claim" | "workspace">,
  file: string,
): Promise<string> {
  const kept = rescuedState(context.settings.workDir, context.claim.job.id);
  const folder = dirname(kept);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const sizes = readdirSync(folder).map((name) => statSync(join(folder, name)).size);
  const room = rescuedLimit - sizes.reduce((sum, size) => sum + size, 0);
  if (room <= 0)
    return `, and the runner keeps no more than ${rescuedLimit} bytes of such states: move the files in ${folder} to another place`;
  try {
    await copyJobFile(context.workspace.root, file, kept, Math.min(room, stateLimit));
  } catch (error) {
    if (!(error instanceof StepFailedError)) throw error;
    return `: ${error.message}`;
  }
  return ` and is kept on the runner as ${kept}`;
}

/** A push that could not be started counts as failed: the state must be kept all the same. */
async function succeeds(run: ReturnType<typeof runTerraform>): Promise<boolean> {
  try {
    return (await run).code === 0;
  } catch (error) {
    if (error instanceof StepFailedError) return false;
    throw error;
  }
}
