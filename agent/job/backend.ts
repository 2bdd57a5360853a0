/** Where a job's state lives, and how terraform is told. */
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, join, relative } from "node:path";
import { StepFailed, type JobContext } from "./context.ts";
import { readJobFile } from "./job-files.ts";
import { localState } from "./workspace.ts";

type Backend =
  /** Terraform's `http` backend at the control plane. */
  | { readonly kind: "managed" }
  /** A file in the work directory, for a server that knows only the interface. */
  | { readonly kind: "local"; readonly specId: string }
  /** What the configuration says itself. */
  | { readonly kind: "own" };

/** Environment for terraform's `http` backend. It is the one place where the job token goes; plans and `.terraform` do not keep it. */
export function stateEnvironment(context: JobContext): Record<string, string> {
  const { job } = context.claim;
  if (job.attempt === undefined || !job.spec_id || !job.job_token) return {};
  if (job.config_snapshot.backend === "own") return {};
  const address = context.api.stateAddress(job.spec_id);
  return {
    TF_HTTP_ADDRESS: address,
    TF_HTTP_LOCK_ADDRESS: address,
    TF_HTTP_UNLOCK_ADDRESS: address,
    TF_HTTP_LOCK_METHOD: "LOCK",
    TF_HTTP_UNLOCK_METHOD: "UNLOCK",
    TF_HTTP_USERNAME: job.id,
    TF_HTTP_PASSWORD: job.job_token,
    // With the default of 2 a control plane that restarts during the last upload costs the state (terraform.md, finding 8).
    TF_HTTP_RETRY_MAX: "8",
  };
}

const injectedPrefix = "zzzz_windlass_";
const isInjected = (name: string): boolean => name.startsWith(injectedPrefix);

/**
 * Writes the override file that replaces any backend of the configuration. Override files are read in the order of their names and
 * the last wins; the random part keeps a `.tofu` twin from hiding it.
 */
export function injectBackend(context: JobContext, folder: string): void {
  // A file that a killed agent had made and not yet written would be no JSON to terraform.
  for (const name of readdirSync(folder).filter(isInjected)) {
    rmSync(join(folder, name), { recursive: true, force: true });
  }
  const backend = backendOf(context, folder);
  if (backend.kind === "own") return;
  let config: object = { http: {} };
  if (backend.kind === "local") {
    const path = localState(context.settings.workDir, backend.specId);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    // A plan keeps its backend's settings: only a relative path is right in another agent's work directory too.
    config = { local: { path: relative(folder, path) } };
  }
  const name = `${injectedPrefix}${randomBytes(8).toString("hex")}_override.tf.json`;
  writeFileSync(join(folder, name), JSON.stringify({ terraform: { backend: config } }), {
    mode: 0o600,
  });
}

/** Without a word in the snapshot, a configuration that has a backend of its own keeps it: a moved state makes everything twice. */
function backendOf({ claim: { job }, workspace }: JobContext, folder: string): Backend {
  const wanted =
    job.config_snapshot.backend ?? (hasBackend(workspace.root, folder) ? "own" : "managed");
  if (wanted === "own") return { kind: "own" };
  if (!job.spec_id) {
    throw new StepFailed("the job names no configuration, so there is no managed state for it");
  }
  if (job.attempt === undefined) return { kind: "local", specId: job.spec_id };
  if (!job.job_token) throw new StepFailed("the server gave no token for the managed state");
  return { kind: "managed" };
}

/**
 * After init, terraform's own record of the backend is compared with what was meant: state in the workspace would be wiped with it,
 * and what the configuration destroyed or made would be forgotten.
 */
export function checkBackend(context: JobContext, folder: string): void {
  const text = readJobFile(context.workspace.root, join(folder, ".terraform", "terraform.tfstate"));
  const { backend } = JSON.parse(text ?? "{}") as {
    backend?: { type?: string; config?: { path?: unknown } };
  };
  const { kind } = backendOf(context, folder);
  const expected = { managed: "http", local: "local", own: undefined }[kind];
  const path = backend?.config?.path;
  const isInWorkspace =
    backend?.type === "local" && !(typeof path === "string" && isAbsolute(path));
  if (kind === "own" ? backend?.type && !isInWorkspace : backend?.type === expected) return;
  throw new StepFailed(
    kind === "own"
      ? 'the configuration is to keep its own state (backend "own") but names no backend outside of the workspace'
      : `terraform uses the backend ${backend?.type ?? "local"} where ${expected} was set`,
  );
}

function hasBackend(root: string, folder: string): boolean {
  for (const name of readdirSync(folder)) {
    if (isInjected(name)) continue;
    const isJson = /\.(tf|tofu)\.json$/.test(name);
    if (!isJson && !/\.(tf|tofu)$/.test(name)) continue;
    const text = readJobFile(root, join(folder, name)) ?? "";
    if (!isJson && declaresBackend(text)) return true;
    if (isJson) {
      const blocks = [(parseJson(text) ?? {})["terraform"]];
      const settings = blocks.flat();
      if (settings.some((block) => isObject(block) && ("backend" in block || "cloud" in block))) {
        return true;
      }
    }
  }
  return false;
}

/** Whether HCL text has a `backend` or `cloud` block in a `terraform` block. Strings, comments and heredocs are blanked first. */
export function declaresBackend(hcl: string): boolean {
  const code = hcl
    .replace(/<<[-~]?(\w+)\n[\s\S]*?^\s*\1\s*$/gm, '""')
    .replace(/"(?:\\.|[^"\\\n])*"|\/\*[\s\S]*?\*\/|(?:#|\/\/).*/g, (part) =>
      part.startsWith('"') ? '""' : " ",
    );
  const blocks: string[] = [];
  for (const [token, name] of code.matchAll(/([\w-]+)?[^\S\n]*(?:"")?[^\S\n]*\{|\}/g)) {
    if (token === "}") blocks.pop();
    else blocks.push(name ?? "");
    if (
      blocks.length === 2 &&
      blocks[0] === "terraform" &&
      /^(backend|cloud)$/.test(blocks[1] ?? "")
    ) {
      return true;
    }
  }
  return false;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

/** Broken JSON is terraform's to complain about. */
function parseJson(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
