/**
 * The first part of `init`: fetches modules and providers before code of the configuration can run,
 * as `terraform init` does before it installs providers (an `s3` backend with `credential_process`,
 * a `kubernetes` one with `exec`). What other jobs trust or needs the agent's tokens is fetched
 * here, without a backend.
 */
import { lstatSync, mkdirSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { known, StepFailedError, type JobContext } from "../context.ts";
import { cloudEnvironment } from "../credentials/cloud-identity.ts";
import { failureOf } from "../terraform/diagnostics.ts";
import { environmentOf, stateEnvironment } from "../terraform/environment.ts";
import { fetchWithin } from "../source/fetch-limit.ts";
import { gitAccessEnvironment, gitEnvironment, gitProtocols } from "../source/git-access.ts";
import { readJobFile } from "../job-files.ts";
import { programs } from "../engine/installed.ts";
import { mentions } from "../mentions.ts";
import {
  checkUnchanged,
  keepProviders,
  linkOffered,
  offerOf,
  useOffered,
  writeCliConfig,
} from "./shared.ts";
import { forOpenTofu, unlocked } from "./lock-file.ts";
import { lockFile } from "../source/source.ts";
import { hasRun, runTerraform } from "../terraform/terraform.ts";
import { emptyFolder, type Workspace } from "../workspace.ts";
import { mebibyte } from "../../../common/units.ts";

/** Terraform writes about ten lines for each provider. */
const lockFileLimit = mebibyte;

/** The only terraform that gets tokens for git, and only for the configuration's repository. */
export async function fetchModules(context: JobContext): Promise<void> {
  const { workspace, settings } = context;
  const folder = known(context, "folder");
  // A former agent has already passed this point.
  if (hasRun(context, "fetch-providers")) return;
  if (!hasRun(context, "fetch-modules")) {
    // Removes what a user's own terraform left in the source: another backend, providers, a partial
    // state.
    for (const left of [".terraform", "errored.tfstate"])
      rmSync(join(folder, left), { recursive: true, force: true });
    rmSync(workspace.lock, { force: true });
    const lock = lockOfSource(context, folder);
    if (lock !== undefined) writeFileSync(workspace.lock, lock, { flag: "wx", mode: 0o600 });
    if (!mayCallModules(workspace.root, folder)) return;
    writeCliConfig(context, undefined);
    shadowMercurial(workspace);
    giveFolders(context);
  }
  const { sourceBytes: bytes, path } = settings;
  const end = await fetchWithin(
    { what: "modules", folder: workspace.root, bytes, path },
    (signal) =>
      runTerraform(context, "fetch-modules", ["get"], {
        logged: true,
        patience: settings.patience.init,
        environment: moduleEnvironment(context),
        signal,
      }),
  );
  if (end.code !== 0) throw await failureOf("init", end);
}

/** With the providers of OpenTofu's own registry, where that is the engine. */
function lockOfSource(
  { workspace, facts: { engine }, log }: JobContext,
  folder: string,
): string | undefined {
  const text = readJobFile(workspace.root, join(folder, lockFile), lockFileLimit);
  if (text === undefined || engine?.engine !== "opentofu") return text;
  const { lock, added } = forOpenTofu(text);
  const names = added.map(({ address, version }) => `${address} ${version}`).slice(0, namesShown);
  const more = added.length > names.length ? ` and ${added.length - names.length} more` : "";
  if (added.length > 0)
    log.system(
      `Warning: the lock file was made by terraform. OpenTofu takes ${names.join(", ")}${more} in the same version from its own registry, whose packages have other hashes, which the file does not have. Run tofu init in its directory, and keep ${lockFile} with the files`,
    );
  return lock;
}

/** In a message. */
const namesShown = 20;

/** The run of an `init` that fetches the providers too. */
export const wholeInit = "init-whole";

/**
 * With nothing of the job's environment but variables; keeps the packages for other jobs. Returns
 * whether this was the whole `init`: with the agent's own backend it runs nothing of the
 * configuration, but could change a lock file.
 */
export async function fetchProviders(context: JobContext): Promise<boolean> {
  const { workspace, settings, facts } = context;
  const folder = known(context, "folder");
  const isApart = hasRun(context, "fetch-providers");
  const isNew = !isApart && !hasRun(context, wholeInit);
  if (isNew) forgetModuleRun(context, folder);
  const source = readJobFile(workspace.root, workspace.lock, lockFileLimit);
  const offer = offerOf(context, source);
  const installed = join(folder, ".terraform", "providers");
  if (!offer) {
    writeCliConfig(context, undefined);
    return false;
  }
  if (isNew) {
    if (offer.lock !== undefined) replaceFile(join(folder, lockFile), offer.lock);
    if (offer.isComplete) {
      await checkUnchanged(context, offer.packages);
      useOffered(context, installed, offer.packages);
      writeCliConfig(context, offer, offer.packages);
      return false;
    }
    linkOffered(context, offer.packages);
    writeCliConfig(context, offer);
    if (asksElsewhere(context)) {
      await checkUnchanged(context, offer.packages);
      return false;
    }
    giveFolders(context);
  }
  const isWhole = !isApart && facts.backend !== undefined && source === undefined;
  const args = ["init", "-input=false", "-get=false", ...(isWhole ? [] : ["-backend=false"])];
  const [name = "", suffix = ""] = isWhole ? ["init", "-whole"] : ["fetch-providers"];
  const end = await runTerraform(context, name, args, {
    suffix,
    logged: true,
    patience: settings.patience.init,
    environment: {
      ...fetchEnvironment(context, /^TF_VAR_/),
      ...(isWhole ? stateEnvironment(context) : {}),
    },
    endsStep: isWhole,
  });
  if (end.code !== 0) throw await failureOf("init", end);
  const written = readJobFile(workspace.root, join(folder, lockFile), lockFileLimit);
  const { packages, lock } = await keepProviders(context, installed, { source, written });
  useOffered(context, installed, packages);
  if (lock !== undefined) replaceFile(join(folder, lockFile), lock);
  writeCliConfig(context, offer, packages);
  return isWhole;
}

/**
 * Throws StepFailedError if `init` chose a provider that the source's lock file does not name.
 * Without `-lockfile=readonly`, because a file of another platform lacks the hashes of this one.
 */
export function checkLock({ workspace, facts }: JobContext): void {
  const source = readJobFile(workspace.root, workspace.lock, lockFileLimit);
  if (source === undefined) return;
  const path = join(facts.folder ?? "", lockFile);
  const written = readJobFile(workspace.root, path, lockFileLimit) ?? "";
  const program = programs[facts.engine?.engine ?? "terraform"];
  for (const each of unlocked(source, written))
    throw new StepFailedError(
      `init: the lock file does not name ${each.address} ${each.version}, which the configuration needs. Run ${program} init in its directory, and keep ${lockFile} with the files`,
    );
}

/** For both runs: names of this pattern, an empty home, no state, no role. */
function fetchEnvironment(context: JobContext, names: RegExp): Record<string, string> {
  const all = Object.entries(context.claim.job.config_snapshot.environment ?? {});
  const own = Object.fromEntries(all.filter(([name]) => names.test(name)));
  return environmentOf(context, { own, state: {}, cloud: {} });
}

/** Names that decide from which server terraform downloads, and which certificates it trusts. */
const networkNames = /^((https?|ftp|all|no)_proxy|ssl_cert_(file|dir))$/i;
const moduleNames = new RegExp(`${networkNames.source}|^TF_(VAR|TOKEN)_`, "i");

/** It may get another package under the name, or needs more: it installs in the real `init`. */
function asksElsewhere({ claim }: JobContext): boolean {
  const names = Object.keys(claim.job.config_snapshot.environment ?? {});
  return names.some((name) => networkNames.test(name) || /^TF_TOKEN_/i.test(name));
}

/** With the job's own role, modules in a bucket can be read. */
function moduleEnvironment(context: JobContext): Record<string, string> {
  const { settings, workspace, claim } = context;
  const { source, environment = {} } = claim.job.config_snapshot;
  const isSteered = Object.keys(environment).some((name) => networkNames.test(name));
  const repository = source.type === "git" && !isSteered ? source.url : undefined;
  return {
    ...fetchEnvironment(context, moduleNames),
    ...cloudEnvironment(context),
    PATH: `${programFolder(workspace)}:${settings.path}`,
    // A repository on this machine, or one that names a program, could run code.
    ...gitEnvironment(gitProtocols(settings)),
    ...gitAccessEnvironment(settings.gitAccess, repository, settings.network),
  };
}

const programFolder = ({ shared }: Workspace): string => join(shared, "programs");

/** Mercurial runs programs that a repository's settings name, even one within the source. */
function shadowMercurial(workspace: Workspace): void {
  const folder = programFolder(workspace);
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  const text = "#!/bin/sh\necho 'modules in Mercurial repositories are not fetched' >&2\nexit 1\n";
  writeFileSync(join(folder, "hg"), text, { mode: 0o755 });
}

/** Test files may call modules too. */
const mayCallModules = (root: string, folder: string): boolean =>
  readdirSync(folder).some((name) => name === "tests" || /\.(tf|tofu)test\./.test(name)) ||
  mentions(root, folder, ["module"]);

/** Only the modules stay of that run: no provider, no setting, no file in `HOME`. */
function forgetModuleRun(context: JobContext, folder: string): void {
  const { workspace } = context;
  if (realpathSync(folder) !== folder)
    throw new StepFailedError(
      "providers: the directory of the configuration was replaced by a link",
    );
  const data = join(folder, ".terraform");
  const isFolder = lstatSync(data, { throwIfNoEntry: false })?.isDirectory();
  for (const name of isFolder ? readdirSync(data) : [])
    if (name !== "modules") rmSync(join(data, name), { recursive: true, force: true });
  if (!isFolder) rmSync(data, { force: true });
  const lock = readJobFile(workspace.root, workspace.lock, lockFileLimit);
  rmSync(join(folder, lockFile), { recursive: true, force: true });
  if (lock !== undefined) replaceFile(join(folder, lockFile), lock);
  for (const path of [workspace.home, workspace.temporary]) emptyFolder(path);
}

function giveFolders({ workspace: { source, home, temporary }, isolation }: JobContext): void {
  isolation.give(source, home, temporary);
}

function replaceFile(path: string, text: string): void {
  // The source may have a link at this path.
  rmSync(path, { force: true });
  writeFileSync(path, text, { flag: "wx", mode: 0o600 });
}
