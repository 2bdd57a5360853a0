/**
 * What a job gets of the providers that are kept, and what it leaves for others. Before `init` the job is offered a folder of links to
 * those packages whose use cannot be told from a download; right after it, when nothing of the job has run yet and nothing runs, what
 * it has downloaded is copied out.
 */
import {
  existsSync,
  lstatSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { freeBytes } from "../disk-space.ts";
import type { JobContext } from "./context.ts";
import { readJobFile } from "./job-files.ts";
import { readLock, withHashes } from "./provider-lock.ts";
import {
  makeOpen,
  packageHash,
  packagePath,
  packagesIn,
  storedPackages,
  storeFolder,
  storePackage,
  type FoundPackage,
  type StoredPackage,
} from "./provider-store.ts";
import { lockFile } from "./source.ts";

/** Writes terraform's CLI configuration and the folder of links that it names. */
export function offerProviders(context: JobContext, folder: string): void {
  const { workspace, settings } = context;
  const { providerMirror } = settings;
  const view = viewOf(context);
  rmSync(view, { recursive: true, force: true });
  const sources: string[] = [];
  if (isOffered(context, folder)) {
    makeOpen(workspace.root, view);
    for (const one of usable(context, folder)) {
      const link = packagePath(view, one);
      makeOpen(view, dirname(link));
      symlinkSync(one.path, link);
    }
    sources.push(`filesystem_mirror {\n    path = ${JSON.stringify(view)}\n  }`);
  }
  if (providerMirror?.startsWith("/")) {
    sources.push(`filesystem_mirror {\n    path = ${JSON.stringify(providerMirror)}\n  }`);
  } else if (providerMirror !== undefined) {
    sources.push(`network_mirror {\n    url = ${JSON.stringify(providerMirror)}\n  }`);
  } else if (sources.length > 0) {
    sources.push("direct {}");
  }
  const installation =
    sources.length === 0 ? "" : `provider_installation {\n  ${sources.join("\n  ")}\n}\n`;
  // Generated, so that the configuration of whoever runs the agent has no say.
  writeFileSync(workspace.cliConfig, `disable_checkpoint = true\n${installation}`, { mode: 0o600 });
}

/** After a successful `init`. What cannot be kept is no fault of the job, and is said in its log. */
export async function keepProviders(context: JobContext, folder: string): Promise<void> {
  const { workspace, settings, facts, isolation } = context;
  const view = viewOf(context);
  const lock = join(folder, lockFile);
  const before = readJobFile(workspace.root, lock) ?? "";
  const locked = new Map(readLock(before).map((each) => [each.address, each]));
  const stored = storedPackages(storeFolder(settings.workDir));
  const used = new Set<string>();
  let text = before;
  for (const found of packagesIn(join(folder, ".terraform", "providers"))) {
    const entry = locked.get(found.address);
    if (entry?.version !== found.version) continue;
    const link = packagePath(view, found);
    if (isLink(found.path)) {
      if (readlinkSync(found.path) !== link || !isLink(link)) continue;
      used.add(link);
      const path = readlinkSync(link);
      touch(path);
      // Terraform can write only one hash for what it did not download: others need those of all platforms.
      const hashes = stored.find((each) => each.path === path)?.record.hashes;
      if (hashes && !facts.locked) text = withHashes(text, found.address, hashes);
    } else {
      // Terraform has compared the zip with a lock file that it was not to change. It will ask for the hash of what it unpacked.
      const hashes = facts.locked ? [await packageHash(found.path), ...entry.hashes] : entry.hashes;
      text = withHashes(text, found.address, hashes);
      await keep(context, found, hashes);
    }
  }
  if (text !== before) {
    replaceLock(lock, text);
    isolation.give(lock);
  }
  // What is not linked any more may be removed while this job runs.
  for (const { path } of packagesIn(view)) if (!used.has(path)) rmSync(path);
}

async function keep(
  { settings, facts, claim, log }: JobContext,
  found: FoundPackage,
  hashes: readonly string[],
): Promise<void> {
  const { workDir, cacheBytes, freeDiskBytes } = settings;
  if (cacheBytes === 0 || !areNamesHarmless(claim.job.config_snapshot.environment)) return;
  const isComplete = !facts.locked && hashes.some(isZipHash);
  try {
    await storePackage(
      storeFolder(workDir),
      found,
      { hashes, isComplete },
      (bytes) => bytes <= cacheBytes && freeBytes(workDir) - bytes > freeDiskBytes,
    );
  } catch (error) {
    log.system(`${found.address} is not kept for other jobs: ${(error as Error).message}`);
  }
}

function replaceLock(path: string, text: string): void {
  // The source may have a link there.
  rmSync(path, { force: true });
  writeFileSync(path, text, { flag: "wx", mode: 0o600 });
}

const isLink = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
const isZipHash = (hash: string): boolean => hash.startsWith("zh:");

const viewOf = ({ workspace }: JobContext): string => join(workspace.shared, "providers");

/** Where a job or the machine brings packages of its own, terraform is left to find them: a word about sources would switch that off. */
function isOffered({ settings, claim }: JobContext, folder: string): boolean {
  if (settings.cacheBytes === 0 || settings.providerMirror?.startsWith("/")) return false;
  if (settings.providerMirror !== undefined) return true;
  const { XDG_DATA_HOME: own, XDG_DATA_DIRS: all } = claim.job.config_snapshot.environment ?? {};
  const shared = [own, ...(all ?? "/usr/local/share:/usr/share").split(delimiter)].filter(Boolean);
  const places = shared.flatMap((each) => [
    join(each ?? "", "terraform", "plugins"),
    join(each ?? "", "opentofu", "plugins"),
  ]);
  return ![join(folder, "terraform.d", "plugins"), ...places].some(existsSync);
}

/**
 * Without a lock file: what can be locked afterwards as if it had been downloaded. With one: what it names, by its very hash or by those of
 * all zips of that version; the hash of what is unpacked is added then, as terraform does that downloads.
 */
function usable({ workspace, settings, facts }: JobContext, folder: string): StoredPackage[] {
  const stored = storedPackages(storeFolder(settings.workDir));
  if (!facts.locked) return stored.filter(({ record }) => record.hashes !== null);
  const lock = join(folder, lockFile);
  const before = readJobFile(workspace.root, lock) ?? "";
  const locked = new Map(readLock(before).map((each) => [each.address, each]));
  let text = before;
  const named = stored.filter(({ address, version, record: { h1, hashes } }) => {
    const entry = locked.get(address);
    if (entry?.version !== version) return false;
    if (entry.hashes.includes(h1)) return true;
    const zips = hashes?.filter(isZipHash) ?? [];
    if (zips.length === 0 || !zips.every((hash) => entry.hashes.includes(hash))) return false;
    text = withHashes(text, address, [h1, ...entry.hashes]);
    return true;
  });
  if (text !== before) replaceLock(lock, text);
  return named;
}

/**
 * A configuration that says which proxy, authority or registry terraform is to ask may get a package under another's name: it may use
 * what is kept, but nothing that it has got is kept.
 */
export function areNamesHarmless(environment: Readonly<Record<string, unknown>> = {}): boolean {
  return Object.keys(environment).every((name) => harmless.test(name));
}

/** A list of what may pass, because one of what may not would never be whole. */
const harmless =
  /^(TF_VAR_\w+|(?!TF_)\w+_(TOKEN|KEY|SECRET|PASSWORD|USER|USERNAME|REGION|PROJECT|ORGANIZATION))$/;

/** When it was last used, for whoever makes room. */
function touch(path: string): void {
  const now = new Date();
  utimesSync(path, now, now);
}
