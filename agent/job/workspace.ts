/**
 * The folder in which a job's terraform lives: everything that terraform may read and write, and nothing of the agent's. The path is
 * the same for a PLAN and the DEPLOY of that plan, because `path.cwd` is baked into plans.
 */
import { mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ClaimedJob } from "../../protocol/executions.ts";

export interface Workspace {
  readonly root: string;
  readonly source: string;
  readonly home: string;
  readonly temporary: string;
  /** What is unpacked from a plan artifact, or where terraform writes the plan. */
  readonly artifact: string;
  /** What is packed into a plan artifact: the agent's own copies, which the job cannot change any more. */
  readonly packed: string;
  readonly plan: string;
  readonly variables: string;
  /** Settings of the backend for `init`. */
  readonly backendConfig: string;
  readonly cliConfig: string;
  /** Where terraform writes its debug log; there only if the job asks for one. */
  readonly debug: string;
  /** The dependency lock file as it came with the source. */
  readonly lock: string;
  /** Links to what the job was given of the engines and providers that jobs share. */
  readonly shared: string;
  /** All of the above that are folders, the root first. The job may write in those that it is given. */
  readonly folders: Readonly<Record<"root" | "source" | "home" | "temporary" | "artifact", string>>;
}

/** Where journal, log and runs of a job are kept. */
export const jobDirectory = (workDir: string, jobId: string): string =>
  join(workDir, "jobs", jobId);

/** The folders that a job works in: the same ones for a PLAN and the DEPLOY of that plan, because plans hold paths. */
export const workspaceOf = (workDir: string, { job }: ClaimedJob): Workspace =>
  workspaceAt(join(workspacesFolder(workDir), workspaceId(job)));

/** Where the workspaces of all jobs are. */
export const workspacesFolder = (workDir: string): string => join(workDir, "workspaces");

/** Jobs with the same one cannot be here at the same time. */
export const workspaceId = (job: ClaimedJob["job"]): string => job.plan_job_id ?? job.id;

/** The parts of the workspace at this path. */
export function workspaceAt(root: string): Workspace {
  const artifact = join(root, "artifact");
  const folders = {
    root,
    source: join(root, "source"),
    home: join(root, "home"),
    temporary: join(root, "tmp"),
    artifact,
  };
  return {
    ...folders,
    folders,
    packed: join(root, "packed"),
    plan: join(artifact, "tfplan"),
    variables: join(root, "job.tfvars.json"),
    backendConfig: join(root, "job.tfbackend.json"),
    cliConfig: join(root, "terraform.rc"),
    debug: join(root, "debug"),
    lock: join(root, "lock.hcl"),
    shared: join(root, "shared"),
  };
}

/** State that the agent keeps itself, for a server that knows nothing of managed state. */
export const localState = (workDir: string, specId: string): string =>
  join(workDir, "state", specId, "terraform.tfstate");

/** The folder of it, for a job whose server knows nothing of managed state. */
export const localStateFolder = (workDir: string, { job }: ClaimedJob): string | undefined =>
  job.attempt === undefined && job.spec_id ? dirname(localState(workDir, job.spec_id)) : undefined;

/** Where a state goes that could be saved nowhere else. */
export const rescuedState = (workDir: string, jobId: string): string =>
  join(workDir, "rescued-states", `${jobId}.tfstate`);

/**
 * Makes it a folder with nothing in it: a step that was cut short begins again. Synchronous, like all small file work of a job:
 * the detour through the thread pool takes longer than the work itself.
 */
export function emptyFolder(path: string): void {
  rmSync(path, { recursive: true, force: true });
  mkdirSync(path, { recursive: true, mode: 0o700 });
}
