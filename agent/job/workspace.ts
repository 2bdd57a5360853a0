/** The directory of a job's terraform: all that it may read and write, nothing of the agent's. */
import { variablesFile } from "../../common/terraform-diagnostics.ts";
import { mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ClaimedJob } from "../../protocol/executions.ts";

export interface Workspace {
  readonly root: string;
  readonly source: string;
  readonly home: string;
  readonly temporary: string;
  /** The plan file: unpacked from a plan artifact, or written by terraform. */
  readonly artifact: string;
  /** The files for a plan artifact: the agent's own copies, which the job can no longer change. */
  readonly packed: string;
  readonly plan: string;
  readonly variables: string;
  /** Settings of the backend for `init`. */
  readonly backendConfig: string;
  readonly cliConfig: string;
  /** How Google's libraries get the job's token. */
  readonly googleCredentials: string;
  /** The authority of the job's Vault. */
  readonly vaultAuthority: string;
  /** Where terraform writes the debug log of a job that asks for one. */
  readonly debug: string;
  /** The dependency lock file as it came with the source. */
  readonly lock: string;
  /** Links to the shared engines and providers that the job was given. */
  readonly shared: string;
  /** The directories among them, the root first. */
  readonly folders: Readonly<Record<"root" | "source" | "home" | "temporary" | "artifact", string>>;
}

/** The directory of a job's journal, log and runs. */
export const jobDirectory = (workDir: string, jobId: string): string =>
  join(workDir, "jobs", jobId);

/** A PLAN and the DEPLOY of that plan share it, because plans contain `path.cwd`. */
export const workspaceOf = (workDir: string, { job }: ClaimedJob): Workspace =>
  workspaceAt(join(workspacesFolder(workDir), workspaceId(job)));

const rescuedStates = "rescued-states";

/** Shortens paths in a message for users, but for those of states that an operator has to find. */
export function withoutPlaces(text: string, workDir: string, claim: ClaimedJob): string {
  const { source, root } = workspaceOf(workDir, claim);
  return [source, root, workDir].reduce(
    (rest, place) =>
      rest.replaceAll(`${place}/`, (found, at: number) =>
        rest.startsWith(rescuedStates, at + found.length) ? found : "",
      ),
    text,
  );
}

export const workspacesFolder = (workDir: string): string => join(workDir, "workspaces");

/** Two jobs with the same one cannot run here at the same time. */
export const workspaceId = (job: ClaimedJob["job"]): string => job.plan_job_id ?? job.id;

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
    variables: join(root, variablesFile),
    backendConfig: join(root, "job.tfbackend.json"),
    cliConfig: join(root, "terraform.rc"),
    googleCredentials: join(root, "google-credentials.json"),
    vaultAuthority: join(root, "vault-authority.pem"),
    debug: join(root, "debug"),
    lock: join(root, "lock.hcl"),
    shared: join(root, "shared"),
  };
}

/** A state that the agent keeps itself, for a server without managed state. */
export const localState = (workDir: string, specId: string): string =>
  join(workDir, "state", specId, "terraform.tfstate");

/** The directory of that state, for a job whose server has no managed state. */
export const localStateFolder = (workDir: string, { job }: ClaimedJob): string | undefined =>
  job.attempt === undefined && job.spec_id ? dirname(localState(workDir, job.spec_id)) : undefined;

/** The file of a state that could be saved nowhere else. */
export const rescuedState = (workDir: string, jobId: string): string =>
  join(workDir, rescuedStates, `${jobId}.tfstate`);

/** An interrupted step starts over. Synchronous, because the thread pool takes longer. */
export function emptyFolder(path: string): void {
  rmSync(path, { recursive: true, force: true });
  mkdirSync(path, { recursive: true, mode: 0o700 });
}
