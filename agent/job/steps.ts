/** The steps of each type of job, in order. These lists summarise what the product does. */
import { chmodSync } from "node:fs";
import { dirname, sep } from "node:path";
import type { JobType } from "../../protocol/jobs.ts";
import { StepFailedError, type Step } from "./context.ts";
import { obtainCredentials } from "./credentials/credentials.ts";
import { resolveEngine } from "./engine/engine.ts";
import { downloadPlan, uploadPlan } from "./plan/artifact.ts";
import { engineCache, holdEngine } from "./shared-cache.ts";
import { forgetAccess } from "./source/source-access.ts";
import { fetchSource } from "./source/source.ts";
import { init } from "./terraform/init.ts";
import {
  apply,
  checkPlan,
  checkTeardown,
  plan,
  readOutputs,
  readValues,
} from "./terraform/steps.ts";
import { emptyFolder } from "./workspace.ts";

/** An empty workspace, whatever an earlier attempt left there. */
const prepareWorkspace: Step = {
  name: "workspace",
  run: async ({ workspace }) => {
    for (const folder of Object.values(workspace.folders)) emptyFolder(folder);
    return {};
  },
};

const findEngine: Step = {
  name: "engine",
  async run({ claim, settings, workspace, facts, stop, log, directory }) {
    // Only now is it certain that the source is not fetched again.
    forgetAccess(directory);
    const { engine = "terraform", engine_version: constraint = null } = claim.job.config_snapshot;
    try {
      const cacheDirectory = engineCache(settings.workDir);
      for (;;) {
        const found = await resolveEngine(
          // A plan works only with the engine version that made it.
          { engine, constraint: facts.manifest?.engine_version ?? constraint },
          {
            path: settings.path,
            network: settings.network,
            cacheDirectory,
            mirrors: settings.engineMirrors,
            offline: settings.engineOffline,
            publicKeys: settings.enginePublicKeys,
            signal: stop,
            onProgress: (text) => log.system(text),
          },
        );
        if (!holdEngine(settings.workDir, workspace, found.path)) continue;
        openFolders(found.path, cacheDirectory);
        return { engine: found };
      }
    } catch (error) {
      throw new StepFailedError(`engine: ${(error as Error).message}`);
    }
  },
};

/** The user of the job runs the engine that the agent has downloaded. */
function openFolders(path: string, cacheDirectory: string): void {
  for (let at = dirname(path); at.startsWith(`${cacheDirectory}${sep}`); at = dirname(at)) {
    chmodSync(at, 0o755);
  }
}

/** A DEPLOY that plans and applies in one job has no plan to download: `plan` makes it. */
const lists: Readonly<Record<JobType, readonly Step[]>> = {
  PLAN: [
    prepareWorkspace,
    fetchSource,
    findEngine,
    obtainCredentials,
    init,
    plan(),
    checkPlan,
    uploadPlan,
  ],
  DEPLOY: [
    prepareWorkspace,
    downloadPlan,
    fetchSource,
    findEngine,
    obtainCredentials,
    init,
    plan(),
    apply,
    readOutputs,
    readValues,
  ],
  DESTROY: [
    prepareWorkspace,
    fetchSource,
    findEngine,
    obtainCredentials,
    init,
    plan("destroy"),
    apply,
  ],
  DESTROY_WORKER: [
    prepareWorkspace,
    fetchSource,
    findEngine,
    obtainCredentials,
    init,
    plan("destroy"),
    checkTeardown,
    apply,
  ],
};

/** Returns the steps of a job of this type, in order. */
export const stepsOf = (type: JobType): readonly Step[] => lists[type];
