/** Where a job's state lives, and how terraform is told. */
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, join, relative } from "node:path";
import type { ReportStatus } from "../../../protocol/executions.ts";
import { StepFailed, type JobContext } from "../context.ts";
import { readJobFile } from "../job-files.ts";
import type { BackendKind } from "../facts.ts";
import type { Journal } from "../journal.ts";
import { mentions } from "../mentions.ts";
import { runTerraform } from "./terraform.ts";
import { localState } from "../workspace.ts";
import { kibibyte } from "../../../common/units.ts";

/** What may declare where state is kept: `state_store` is a terraform to come. */
const backendWords = ["backend", "cloud", "state_store"];

/**
 * Decides where the state is kept. Without a choice, a configuration that declares a backend keeps it, because a state that moves makes
 * terraform create everything again. Whether it declares one is terraform's to say: before init, `output` fails if there is one to
 * initialize, and runs nothing of the configuration. Files that terraform cannot read fail there too, and then in init.
 */
export async function chooseBackend(context: JobContext, folder: string): Promise<BackendKind> {
  const kind = await kindOf(context, folder);
  if (kind !== "own" && hasSettings(context)) {
    throw new StepFailed(
      `backend_config is for a backend that the files declare, but the state of this configuration is kept ${kind === "managed" ? "in the control plane" : "by the agent"}. ${howToChoose}, or remove backend_config`,
    );
  }
  return kind;
}

const hasSettings = ({ claim: { job } }: JobContext): boolean =>
  Object.keys(job.config_snapshot.backend_config ?? {}).length > 0;

/** Writes what the declared backend leaves open, for `init`: as a file, because other users see a process's arguments. */
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

async function kindOf(context: JobContext, folder: string): Promise<BackendKind> {
  const { backend: chosen } = context.claim.job.config_snapshot;
  if (chosen === "own") return "own";
  const isDeclared =
    mentions(context.workspace.root, folder, backendWords) && !(await hasOutputs(context));
  if (isDeclared && chosen === undefined) {
    if (await hasKeptState(context)) {
      throw new StepFailed(
        "the files declare a backend of their own, but the control plane keeps a state of this configuration: " +
          `terraform would make everything once more. ${howToChoose}; to move the state, download it and push it there first`,
      );
    }
    context.log.system(
      "The files declare a backend of their own, which keeps the state because no other was chosen. " +
        "To keep it in the control plane: --backend managed",
    );
    return "own";
  }
  const kind = keptFor(context);
  const wasOwn = context.claim.job.deployed_backend === "own";
  if (!isDeclared && wasOwn && chosen === undefined) {
    throw new StepFailed(
      "the last DEPLOY kept the state in a backend that the files declared, and they declare none any more: " +
        `terraform would make everything once more. ${howToChoose}, for which they must declare it again`,
    );
  }
  if (!isDeclared && wasOwn) {
    context.log.system(
      "The last DEPLOY kept the state in a backend that the files declared. It is not used: " +
        'the configuration\'s backend is "managed", so the control plane keeps the state.',
    );
  }
  if (isDeclared) {
    context.log.system(
      'The files declare a backend of their own. It is not used: the configuration\'s backend is "managed", so the control plane keeps the state.',
    );
  }
  return kind;
}

/** A backend that is declared later must not leave the state behind that there is. */
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
    throw new StepFailed("the job names no configuration, so there is no managed state for it");
  }
  if (job.attempt === undefined) return "local";
  if (!job.job_token) throw new StepFailed("the server gave no token for the managed state");
  return "managed";
}

/** What an agent of an earlier release had decided, which left no fact. */
export function backendBefore({ claim: { job } }: JobContext): BackendKind {
  if (job.config_snapshot.backend === "own") return "own";
  return job.attempt === undefined ? "local" : "managed";
}

/** Where the state is kept that the job has applied to, if it came to that and the control plane can be told. */
export function appliedBackend(journal: Journal): Pick<ReportStatus, "backend"> {
  const { facts } = journal.find("done", ({ step }) => step === "init") ?? {};
  const hasApplied = journal.find("begun", ({ step }) => step === "apply") !== undefined;
  const { backend } = facts ?? {};
  return hasApplied && (backend === "own" || backend === "managed") ? { backend } : {};
}

const injectedPrefix = "zzzz_windlass_";
const isInjected = (name: string): boolean => name.startsWith(injectedPrefix);

/**
 * Writes the override file that replaces any backend of the configuration. Override files are read in the order of their names and
 * the last wins; the random part keeps a `.tofu` twin from hiding it.
 */
export function injectBackend(context: JobContext, folder: string, kind: BackendKind): void {
  if (kind === "own") return;
  let config: object = { http: {} };
  if (kind === "local") {
    const path = localState(context.settings.workDir, context.claim.job.spec_id ?? "");
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    // A plan keeps its backend's settings: only a relative path is right in another agent's work directory too.
    config = { local: { path: relative(folder, path) } };
  }
  const name = `${injectedPrefix}${randomBytes(8).toString("hex")}_override.tf.json`;
  writeFileSync(join(folder, name), JSON.stringify({ terraform: { backend: config } }), {
    mode: 0o600,
    flag: "wx",
  });
}

/** Removes what a killed agent has injected: a file that it had made and not yet written would be no JSON to terraform. */
export function removeInjected(folder: string): void {
  for (const name of readdirSync(folder).filter(isInjected)) {
    rmSync(join(folder, name), { recursive: true, force: true });
  }
}

/** Whether a backend was injected, and with it what an agent before this one had decided when it began init. */
export const injectedBackend = (context: JobContext, folder: string): BackendKind =>
  readdirSync(folder).some(isInjected) ? keptFor(context) : "own";

/** Terraform's record of a backend is a few KiB. JSON takes many times its size in memory. */
const recordLimit = 256 * kibibyte;

/**
 * After init, terraform's own record of the backend is compared with what was meant: state in the workspace would be wiped with it,
 * and what the configuration destroyed or made would be forgotten.
 */
export function checkBackend(context: JobContext, folder: string, kind: BackendKind): void {
  const record = join(folder, ".terraform", "terraform.tfstate");
  const text = readJobFile(context.workspace.root, record, recordLimit);
  const { backend } = JSON.parse(text ?? "{}") as {
    backend?: { type?: string; config?: { path?: unknown } };
  };
  const { backend: chosen } = context.claim.job.config_snapshot;
  const expected = { managed: "http", local: "local", own: undefined }[kind];
  const path = backend?.config?.path;
  const isInWorkspace =
    backend?.type === "local" && !(typeof path === "string" && isAbsolute(path));
  if (kind === "own" ? backend?.type && !isInWorkspace : backend?.type === expected) return;
  if (kind !== "own") {
    throw new StepFailed(
      `terraform uses the backend ${backend?.type ?? "local"} where ${expected} was set`,
    );
  }
  const named = "no backend that keeps the state outside of the job's workspace";
  throw new StepFailed(
    chosen === "own"
      ? `the configuration is to keep its own state (backend "own") but declares ${named}`
      : `it cannot be decided where the state is kept: no backend was chosen, and the files seem to declare one, but terraform finds ${named}. ${howToChoose}`,
  );
}

/** What a person does about a configuration whose backend is not clear. */
export const howToChoose =
  "Choose one: --backend managed keeps the state in the control plane, --backend own in the backend that the files declare";
