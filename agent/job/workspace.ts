/**
 * The folder in which a job's terraform lives: everything that terraform may read and write, and nothing of the agent's. The path is
 * the same for a PLAN and the DEPLOY of that plan, because `path.cwd` is baked into plans.
 */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ClaimedJob } from "../../protocol/executions.ts";
import type { Step } from "./context.ts";

export interface Workspace {
  readonly root: string;
  readonly source: string;
  readonly home: string;
  readonly temporary: string;
  /** What is packed into, or unpacked from, a plan artifact. */
  readonly artifact: string;
  readonly plan: string;
  readonly variables: string;
  readonly cliConfig: string;
}

/** Where journal, log and runs of a job are kept. */
export const jobDirectory = (workDir: string, jobId: string): string =>
  join(workDir, "jobs", jobId);

/** The folders that a job works in: the same ones for a PLAN and the DEPLOY of that plan, because plans hold paths. */
export function workspaceOf(workDir: string, { job }: ClaimedJob): Workspace {
  const root = join(workDir, "workspaces", job.plan_job_id ?? job.id);
  const artifact = join(root, "artifact");
  return {
    root,
    source: join(root, "source"),
    home: join(root, "home"),
    temporary: join(root, "tmp"),
    artifact,
    plan: join(artifact, "tfplan"),
    variables: join(root, "job.tfvars.json"),
    cliConfig: join(root, "terraform.rc"),
  };
}

/** State that the agent keeps itself, for a server that knows nothing of managed state. */
export const localState = (workDir: string, specId: string): string =>
  join(workDir, "state", specId, "terraform.tfstate");

/** Where a state goes that could be saved nowhere else. */
export const rescuedState = (workDir: string, jobId: string): string =>
  join(workDir, "rescued-states", `${jobId}.tfstate`);

/** An empty workspace, whatever an earlier try left there. */
export const prepareWorkspace: Step = {
  name: "workspace",
  async run({ workspace }) {
    await emptyFolder(workspace.root);
    for (const folder of [
      workspace.source,
      workspace.home,
      workspace.temporary,
      workspace.artifact,
    ]) {
      await mkdir(folder, { mode: 0o700 });
    }
    // Generated, so that the configuration of whoever runs the agent has no say.
    await writeFile(workspace.cliConfig, "disable_checkpoint = true\n", { mode: 0o600 });
    return {};
  },
};

/** A folder with nothing in it: a step that was cut short begins again. */
export async function emptyFolder(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
  await mkdir(path, { recursive: true, mode: 0o700 });
}
