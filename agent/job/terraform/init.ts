/** The step `init`: fetches modules and providers, and initialises the backend. */
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import {
  backendBefore,
  backendConfigOf,
  checkBackend,
  chooseBackend,
  howToChoose,
  injectBackend,
  injectedBackend,
  plainBackend,
  removeInjected,
} from "./backend.ts";
import { asksForWorkspace, workspaceWarning } from "../../../common/terraform-workspace.ts";
import { readJobFile } from "../job-files.ts";
import { firstFile } from "../mentions.ts";
import type { StepFailedError } from "../context.ts";
import { known, type JobContext, type Step } from "../context.ts";
import { failureOf } from "./diagnostics.ts";
import { checkLock, fetchModules, fetchProviders, wholeInit } from "../providers/fetch.ts";
import { checkVarFiles } from "../plan/arguments.ts";
import {
  differing,
  evaluatesEarly,
  ofSets,
  variablesOf,
  writeVariables,
} from "../plan/variables.ts";
import { hasRun, runTerraform, type TerraformEnd } from "./terraform.ts";
import { localStateFolder } from "../workspace.ts";

export const init: Step = {
  name: "init",
  async run(context) {
    const folder = known(context, "folder");
    if (!context.journal.find("run")) {
      prepareVariables(context);
      noteWorkspace(context, folder);
    }
    if (!(await prepareInit(context, folder))) await initAlone(context);
    const backend = known(context, "backend");
    checkBackend(context, folder, backend);
    return { backend };
  },
  resume(context, facts) {
    context.facts.backend = facts.backend ?? backendBefore(context);
  },
};

/** Before the first command of the job. */
function prepareVariables(context: JobContext): void {
  for (const name of differing(context))
    context.log.system(
      `Warning: TF_VAR_${name} in the environment differs from the variable ${name} of the configuration, which is used. Remove one of them`,
    );
  if (!evaluatesEarly(context)) return;
  checkVarFiles(context);
  if (variablesOf(context)) writeVariables(context, ofSets(context));
}

/** Before `.terraform` is removed. It decides nothing. */
function noteWorkspace({ workspace: { root }, log }: JobContext, folder: string): void {
  const user = firstFile(root, folder, asksForWorkspace);
  const warning = workspaceWarning("the source", chosenWorkspace(root, folder), user);
  if (warning !== undefined) log.system(warning);
}

function chosenWorkspace(root: string, folder: string): string | undefined {
  try {
    const chosen = readJobFile(root, join(folder, ".terraform", "environment"), workspaceNameLimit);
    return chosen?.trim();
  } catch {
    // No file that terraform has written.
    return undefined;
  }
}

/** In bytes. */
const workspaceNameLimit = 255;

/** Returns whether the command that fetched the providers was the whole `init`. */
async function prepareInit(context: JobContext, folder: string): Promise<boolean> {
  const { facts } = context;
  if (hasRun(context, "init")) {
    facts.backend = injectedBackend(context, folder);
    return false;
  }
  if (hasRun(context, wholeInit)) {
    facts.backend = injectedBackend(context, folder);
  } else {
    removeInjected(folder);
    await fetchModules(context);
    const backend = plainBackend(context, folder);
    if (backend) {
      facts.backend = backend;
      injectBackend(context, folder, backend);
      giveState(context);
    }
  }
  const isDone = await fetchProviders(context);
  giveWorkspace(context);
  if (facts.backend) return isDone;
  facts.backend = await chooseBackend(context, folder);
  injectBackend(context, folder, facts.backend);
  giveWorkspace(context);
  return false;
}

async function initAlone(context: JobContext): Promise<void> {
  const args = ["init", "-input=false", ...backendConfigOf(context)];
  const end = await runTerraform(context, "init", args, {
    logged: true,
    patience: context.settings.patience.init,
  });
  rmSync(context.workspace.backendConfig, { force: true });
  if (end.code !== 0) throw await initFailure(context, end);
  checkLock(context);
}

async function initFailure(context: JobContext, end: TerraformEnd): Promise<StepFailedError> {
  const isUnclear =
    context.facts.backend === "own" && context.claim.job.config_snapshot.backend === undefined;
  const note = isUnclear ? ` (no backend was chosen. ${howToChoose})` : "";
  return failureOf("init", end, note);
}

/** Before anything of the job runs, gives it the files that the agent has prepared. */
function giveWorkspace(context: JobContext): void {
  context.identity?.place();
  const { source, home, temporary, artifact, cliConfig } = context.workspace;
  context.isolation.give(source, home, temporary, artifact, cliConfig);
  giveState(context);
}

/** A state that the agent keeps itself. */
function giveState({ claim, settings, isolation }: JobContext): void {
  const state = localStateFolder(settings.workDir, claim);
  if (state !== undefined && existsSync(state)) isolation.give(state);
}
