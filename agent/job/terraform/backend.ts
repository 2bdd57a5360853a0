/** Decides where a job's state is kept, and configures terraform for it. */
import { mkdirSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import type { ReportStatus } from "../../../protocol/executions.ts";
import { StepFailedError, type JobContext } from "../context.ts";
import { readJobFile } from "../job-files.ts";
import type { BackendKind } from "../facts.ts";
import type { Journal } from "../journal.ts";
import { mentions } from "../mentions.ts";
import { runTerraform } from "./terraform.ts";
import { localState } from "../workspace.ts";
import { kibibyte } from "../../../common/units.ts";

/** The words that declare a backend; `state_store` will come with a later terraform. */
const backendWords = ["backend", "cloud", "state_store"];

/**
 * Decides where the state is kept. Without a choice, a declared backend is used, because terraform
 * would create everything again if the state moved. Terraform itself knows: before init, `output`
 * fails if there is a backend to initialise, and runs nothing of the configuration. Unreadable
 * files fail there too, and then in init.
 */
export async function chooseBackend(context: JobContext, folder: string): Promise<BackendKind> {
  const kind = await kindOf(context, folder);
  if (kind !== "own" && hasSettings(context)) {
    throw new StepFailedError(
      `backend_config is for a backend that the files declare, but the state of this configuration is kept ${placeOf[kind]}. ${howToChoose}, or remove backend_config`,
    );
  }
  return kind;
}

const hasSettings = ({ claim: { job } }: JobContext): boolean =>
  Object.keys(job.config_snapshot.backend_config ?? {}).length > 0;

/** What the declared backend leaves open. In a file, because other users can see arguments. */
export function backendConfigOf(context: JobContext): string[] {
  const { workspace, claim, isolation } = context;
  if (!hasSettings(context)) return [];
  const { backendConfig } = workspace;
  writeFileSync(backendConfig, JSON.stringify(claim.job.config_snapshot.backend_config), {
    mode: 0o600,
  });
  isolation.give(backendConfig);
  return [`-backend-config=${backendConfig}`];
}

/**
 * The agent's backend if no file can declare another: then `init` runs nothing of the
 * configuration. Undefined if that is not certain.
 */
export function plainBackend(context: JobContext, folder: string): BackendKind | undefined {
  const { workspace, claim } = context;
  const { deployed_backend: last, config_snapshot } = claim.job;
  const isPlain =
    config_snapshot.backend !== "own" &&
    last !== "own" &&
    !hasSettings(context) &&
    !mentions(workspace.root, folder, backendWords);
  return isPlain ? keptFor(context) : undefined;
}

async function kindOf(context: JobContext, folder: string): Promise<BackendKind> {
  const { backend: chosen } = context.claim.job.config_snapshot;
  if (chosen === "own") return "own";
  const isDeclared =
    mentions(context.workspace.root, folder, backendWords) && !(await hasOutputs(context));
  if (isDeclared && chosen === undefined) {
    if (await hasKeptState(context)) {
      throw new StepFailedError(
        "the files declare a backend, but the control plane already keeps a state of this configuration: " +
          `terraform would create everything a second time. ${howToChoose}; to move the state, download it and push it to that backend first`,
      );
    }
    context.log.system(
      "The state is kept in the backend that the files declare, because no backend was chosen. " +
        "To keep it in the control plane: --backend managed",
    );
    return "own";
  }
  const kind = keptFor(context);
  const wasOwn = context.claim.job.deployed_backend === "own";
  if (!isDeclared && wasOwn && chosen === undefined) {
    throw new StepFailedError(
      "the last DEPLOY kept the state in a backend that the files declared, but they no longer declare one: " +
        `terraform would create everything a second time. Choose a backend: --backend own, for which the files must declare it again; ` +
        "or --backend managed, after which you move the state: terraform state pull | windlass state push NAME",
    );
  }
  if (wasOwn) {
    throw new StepFailedError(
      'the last DEPLOY kept the state in a backend that the files declared, and the configuration\'s backend is "managed" now: ' +
        "terraform would create everything a second time. To move the state, run in a directory that still declares that backend: " +
        "terraform state pull | windlass state push NAME. To keep it there: --backend own",
    );
  }
  if (isDeclared) {
    context.log.system(
      'The files declare a backend, which is not used: the configuration\'s backend is "managed", so the control plane keeps the state.',
    );
  }
  return kind;
}

/** If a backend is declared later, the existing managed state must not be left behind. */
async function hasKeptState({ claim: { job }, api, stop }: JobContext): Promise<boolean> {
  if (job.attempt === undefined || !job.spec_id || !job.job_token) return false;
  return api.hasState(job.spec_id, job.job_token, stop);
}

async function hasOutputs(context: JobContext): Promise<boolean> {
  const { init: patience } = context.settings.patience;
  const options = { logged: false, patience, suffix: "-backend" };
  return (await runTerraform(context, "init", ["output", "-json"], options)).code === 0;
}

function keptFor({ claim: { job } }: JobContext): BackendKind {
  if (!job.spec_id) {
    throw new StepFailedError(
      "the job names no configuration, so there is no managed state for it",
    );
  }
  if (job.attempt === undefined) return "local";
  if (!job.job_token) throw new StepFailedError("the server sent no token for the managed state");
  return "managed";
}

/** A decision of an agent of an earlier release, which wrote no fact. */
export function backendBefore({ claim: { job } }: JobContext): BackendKind {
  if (job.config_snapshot.backend === "own") return "own";
  return job.attempt === undefined ? "local" : "managed";
}

/** Where the state is kept to which the job applied, unless in the work directory. */
export function appliedBackend(journal: Journal): Pick<ReportStatus, "backend"> {
  const { facts } = journal.find("done", ({ step }) => step === "init") ?? {};
  const hasApplied = journal.find("begun", ({ step }) => step === "apply") !== undefined;
  const { backend } = facts ?? {};
  return hasApplied && (backend === "own" || backend === "managed") ? { backend } : {};
}

const injectedPrefix = "zzzz_windlass_";
const injectedName = `${injectedPrefix}override.tf`;
/** Whether a file of this name is the agent's own; `init` removes a former one. */
export const isInjected = (name: string): boolean => name.startsWith(injectedPrefix);

/**
 * Writes an override file for the backend; terraform reads these by name, and the last one wins. A
 * configuration can list its files (`fileset`), so name and content are the same in each job, and
 * it is no JSON, which such lists are mostly of. `removeInjected` has removed others of the name,
 * such as one in `.tofu`, which would hide it.
 */
export function injectBackend(context: JobContext, folder: string, kind: BackendKind): void {
  if (kind === "own") return;
  let config = 'backend "http" {}';
  if (kind === "local") {
    const path = localState(context.settings.workDir, context.claim.job.spec_id ?? "");
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    // A plan contains the settings of its backend, so only a relative path is right in another
    // agent's work directory too.
    config = `backend "local" {\n    path = ${quoted(relative(folder, path))}\n  }`;
  }
  writeFileSync(
    join(folder, injectedName),
    `# The runner adds this file: Windlass keeps the state.\nterraform {\n  ${config}\n}\n`,
    { mode: 0o600, flag: "wx" },
  );
}

/** A text as HCL writes it. */
const quoted = (text: string): string =>
  JSON.stringify(text).replaceAll("${", "$${").replaceAll("%{", "%%{");

/** Removes the override file of a killed agent, which may be incomplete. */
export function removeInjected(folder: string): void {
  for (const name of readdirSync(folder).filter(isInjected)) {
    rmSync(join(folder, name), { recursive: true, force: true });
  }
}

/** Whether an override file exists: what an earlier agent had decided before init. */
export const injectedBackend = (context: JobContext, folder: string): BackendKind =>
  readdirSync(folder).some(isInjected) ? keptFor(context) : "own";

/** Terraform's record of a backend has a few KiB. JSON takes many times its size in memory. */
const recordLimit = 256 * kibibyte;

/**
 * Compares terraform's record with the decision, and that with the plan's: terraform applies it in
 * the plan's backend. A state that does not outlive the job, the only record of what was created,
 * is refused.
 */
export function checkBackend(context: JobContext, folder: string, kind: BackendKind): void {
  const planned = context.facts.manifest?.backend;
  if (planned !== undefined && planned !== kind) {
    throw new StepFailedError(
      `the plan was made with the state ${placeOf[planned]}, and it is kept ${placeOf[kind]} now: plan again`,
    );
  }
  const record = join(folder, ".terraform", "terraform.tfstate");
  const text = readJobFile(context.workspace.root, record, recordLimit);
  const { backend } = JSON.parse(text ?? "{}") as {
    backend?: { type?: string; config?: { path?: unknown } };
  };
  const expected = { managed: "http", local: "local", own: undefined }[kind];
  if (kind !== "own") {
    if (backend?.type === expected) return;
    throw new StepFailedError(
      `terraform uses the backend ${backend?.type ?? "local"} instead of ${expected}`,
    );
  }
  if (backend?.type === "local") {
    const { path } = backend.config ?? {};
    const file = resolve(folder, typeof path === "string" ? path : "terraform.tfstate");
    if (!context.isolation.passing.some((each) => isBelow(file, each))) return;
    throw new StepFailedError(
      `the state would be lost: the files declare the backend "local" with the file ${file}, which does not outlive the job at the isolation level ${context.isolation.level}. ${howToChoose}, which must then be one outside of the runner`,
    );
  }
  if (backend?.type) return;
  throw new StepFailedError(
    context.claim.job.config_snapshot.backend === "own"
      ? `the configuration has the backend "own" but declares none. ${howToChoose}`
      : `it is not clear where the state is kept: no backend was chosen, and the files seem to declare one, but terraform finds none. ${howToChoose}`,
  );
}

const isBelow = (path: string, folder: string): boolean =>
  `${realPlace(path)}${sep}`.startsWith(`${realPlace(folder)}${sep}`.replace("//", "/"));

/** Where the path leads, also if there is nothing yet. */
function realPlace(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path === dirname(path) ? path : join(realPlace(dirname(path)), basename(path));
  }
}

const placeOf: Readonly<Record<BackendKind, string>> = {
  managed: "in the control plane",
  local: "by the agent",
  own: "in the backend that the files declare",
};

/** What a user can do about a configuration whose backend is not clear. */
export const howToChoose =
  "Choose a backend: --backend managed keeps the state in the control plane, --backend own in the backend that the files declare";
