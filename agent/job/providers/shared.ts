/**
 * Offers a job links to kept provider packages that it could also have downloaded, and keeps what
 * it downloads in the step `providers`, in which nothing of the configuration runs.
 */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { freeBytes } from "../../machine/disk-space.ts";
import { StepFailedError, type JobContext } from "../context.ts";
import { mentions } from "../mentions.ts";
import { inOpenTofu, isPlainLock, readLock, withHashes } from "./lock-file.ts";
import {
  isUnchanged,
  makeOpen,
  packagePath,
  packagesIn,
  storedPackage,
  storedPackages,
  storeFolder,
  storePackage,
  zipsIn,
  type FoundPackage,
  type PackageOrigin,
  type PackageRecord,
  type ProviderPackage,
  type StoredPackage,
} from "./store.ts";

export interface Offer {
  readonly packages: readonly StoredPackage[];
  /** They are all that the lock file names, so nothing has to be downloaded. */
  readonly isComplete: boolean;
  /** With the hash of the unpacked package where it names every zip of a kept one. */
  readonly lock: string | undefined;
}

/** Returns the packages that the job may use; undefined: terraform must find packages by itself. */
export function offerOf(context: JobContext, lock: string | undefined): Offer | undefined {
  const { settings, isolation, facts } = context;
  if (!isOffered(context)) return undefined;
  const stored = storedPackages(storeFolder(settings.workDir), isolation.level);
  const free = stored.filter(({ record }) => isFree(record, mirrorOf(context)));
  if (lock === undefined) return { packages: free, isComplete: false, lock };
  return namedBy(lock, { stored, free: new Set(free) }, facts.engine?.engine === "opentofu");
}

/**
 * Whether a job without a lock file would get this package and the same lock file if it
 * downloaded. What a mirror without hashes gives is what it gave before.
 */
const isFree = ({ hashes, mirror }: PackageRecord, now: string | undefined): boolean =>
  hashes !== null || (now !== undefined && mirror === now);

/** Only of a mirror on the network is anything kept. */
const mirrorOf = ({ settings: { providerMirror } }: JobContext): string | undefined =>
  providerMirror?.startsWith("/") ? undefined : providerMirror;

/**
 * Named by the hash of the package; by those of all zips of the version, which the registry signed
 * together, or for which terraform took it; or with no hash. Adds the hash of the package, as
 * terraform does after a download.
 */
function namedBy(
  lock: string,
  { stored, free }: { stored: readonly StoredPackage[]; free: ReadonlySet<StoredPackage> },
  isTofu: boolean,
): Offer {
  const entries = readLock(lock);
  const locked = new Map(entries.map((each) => [each.address, each]));
  const added = new Map<string, readonly string[]>();
  const packages = stored.filter((one) => {
    const { address, version, record } = one;
    const { h1, hashes } = record;
    const entry = locked.get(address);
    if (entry?.version !== version) return false;
    const known = new Set(entry.hashes);
    if (known.has(h1)) return true;
    if (entry.isOpen && free.has(one)) {
      added.set(address, hashes ?? [h1]);
      return true;
    }
    const zips = hashes ? zipsIn(hashes) : (record.zips ?? []);
    if (zips.length === 0 || !zips.every((hash) => known.has(hash))) return false;
    added.set(address, [h1, ...entry.hashes]);
    return true;
  });
  const found = new Set(packages.map(({ address }) => address));
  // Of two entries for one provider, the job almost always needs only OpenTofu's.
  const isFound = (address: string): boolean =>
    found.has(address) || (isTofu && found.has(inOpenTofu(address) ?? ""));
  const isComplete = entries.length > 0 && entries.every(({ address }) => isFound(address));
  return { packages, isComplete, lock: withHashes(lock, added) };
}

/** Creates the directory of links. While the job runs, the agent removes none of these packages. */
export function linkOffered({ workspace }: JobContext, packages: readonly StoredPackage[]): void {
  const view = viewOf(workspace);
  rmSync(view, { recursive: true, force: true });
  makeOpen(workspace.root, view);
  for (const one of packages) {
    const link = packagePath(view, one);
    makeOpen(view, dirname(link));
    symlinkSync(one.path, link);
    touch(one.path);
  }
}

/** In place of what terraform has downloaded, where it looks for installed packages. */
export function useOffered(
  context: JobContext,
  folder: string,
  packages: readonly StoredPackage[],
): void {
  linkOffered(context, packages);
  for (const one of packages) {
    const installed = packagePath(folder, one);
    mkdirSync(dirname(installed), { recursive: true });
    rmSync(installed, { recursive: true, force: true });
    symlinkSync(packagePath(viewOf(context.workspace), one), installed);
  }
}

/** `fetched`: packages in the directory of links, which are not downloaded again. */
export function writeCliConfig(
  { workspace, settings, isolation }: JobContext,
  offer: Offer | undefined,
  fetched: readonly ProviderPackage[] = [],
): void {
  const { providerMirror } = settings;
  const addresses = [...new Set(fetched.map(({ address }) => address))];
  const rest = addresses.length === 0 ? "" : `    exclude = ${JSON.stringify(addresses)}\n`;
  const sources: string[] = [];
  if (offer) sources.push(`filesystem_mirror {\n    path = ${quote(viewOf(workspace))}\n  }`);
  if (providerMirror?.startsWith("/")) {
    sources.push(`filesystem_mirror {\n    path = ${quote(providerMirror)}\n  }`);
  } else if (providerMirror !== undefined) {
    sources.push(`network_mirror {\n    url = ${quote(providerMirror)}\n${rest}  }`);
  } else if (offer) {
    sources.push(`direct {\n${rest}  }`);
  }
  const installation =
    sources.length === 0 ? "" : `provider_installation {\n  ${sources.join("\n  ")}\n}\n`;
  // Generated, so that the CLI configuration of the agent's user has no effect.
  rmSync(workspace.cliConfig, { force: true });
  writeFileSync(workspace.cliConfig, `disable_checkpoint = true\n${installation}`, { mode: 0o600 });
  isolation.give(workspace.cliConfig);
}

/**
 * Stores what terraform has downloaded into `folder` before anything of the configuration ran,
 * replaces it with links, and returns the lock file, with the hashes of all platforms for these.
 */
export async function keepProviders(
  context: JobContext,
  folder: string,
  { source, written }: { source: string | undefined; written: string | undefined },
): Promise<{ packages: readonly StoredPackage[]; lock: string | undefined }> {
  // Without a provider, terraform writes no lock file.
  if (written === undefined) return { packages: [], lock: source };
  const { workspace, settings, isolation } = context;
  const view = viewOf(workspace);
  const store = storeFolder(settings.workDir);
  const locked = new Map(readLock(written).map((each) => [each.address, each]));
  const given = new Map(readLock(source ?? "").map((each) => [each.address, each]));
  const isPlain = source !== undefined && isPlainLock(source);
  const hashesOf = new Map<string, readonly string[]>();
  const used: StoredPackage[] = [];
  for (const found of packagesIn(folder)) {
    const entry = locked.get(found.address);
    if (entry?.version !== found.version) continue;
    const isFromStore = isLink(found.path);
    if (isFromStore && readlinkSync(found.path) !== packagePath(view, found)) continue;
    const own = given.get(found.address);
    const isUnlocked = source === undefined || own?.isOpen === true;
    if (!isFromStore)
      await keep(context, found, {
        hashes: entry.hashes,
        isComplete: isUnlocked && zipsIn(entry.hashes).length > 0,
        mirror: mirrorOf(context),
        source: isPlain && !isUnlocked ? own?.hashes : undefined,
      });
    const kept = storedPackage(store, isolation.level, found);
    if (!kept || (!isFromStore && !entry.hashes.includes(kept.record.h1))) continue;
    used.push(kept);
    // Terraform writes only one hash for a package that it did not download. On other platforms,
    // jobs need the hashes of all.
    if (isFromStore && isUnlocked && kept.record.hashes)
      hashesOf.set(found.address, kept.record.hashes);
  }
  await checkUnchanged(context, used);
  return { packages: used, lock: lockAfter(source, withHashes(written, hashesOf)) };
}

/** Throws `StepFailedError` if a job has changed one, which is possible at the level `process`. */
export async function checkUnchanged(
  { isolation }: JobContext,
  packages: readonly StoredPackage[],
): Promise<void> {
  for (const one of packages) {
    if (await isUnchanged(one, isolation.level)) continue;
    throw new StepFailedError(
      `providers: the kept package of ${one.address} ${one.version} was changed by another process and is removed. ` +
        "Start the job again, and use an isolation level other than process",
    );
  }
}

/** The source's file stays, but for the hashes that terraform found for its providers. */
function lockAfter(source: string | undefined, written: string): string {
  if (source === undefined) return written;
  const found = new Map(readLock(written).map((each) => [each.address, each]));
  const merged = new Map(
    readLock(source).flatMap(({ address, version, hashes }) => {
      const entry = found.get(address);
      return entry?.version === version ? [[address, [...hashes, ...entry.hashes]] as const] : [];
    }),
  );
  return withHashes(source, merged);
}

async function keep(
  { settings, log, isolation: { level } }: JobContext,
  found: FoundPackage,
  origin: PackageOrigin,
): Promise<void> {
  const { workDir, cacheBytes, freeDiskBytes } = settings;
  try {
    await storePackage(
      storeFolder(workDir),
      found,
      { ...origin, level },
      (bytes) => bytes <= cacheBytes && freeBytes(workDir) - bytes > freeDiskBytes,
    );
  } catch (error) {
    log.system(`${found.address} cannot be kept for other jobs: ${(error as Error).message}`);
  }
}

const isLink = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
const quote = (text: string): string => JSON.stringify(text);

/** The directory of links. */
const viewOf = ({ shared }: JobContext["workspace"]): string => join(shared, "providers");

/**
 * If source or machine bring packages, terraform must find them itself: a CLI configuration that
 * names any source switches that off. What such a job installs is not kept.
 */
function isOffered(context: JobContext): boolean {
  const { settings, claim, facts } = context;
  if (settings.cacheBytes === 0 || settings.providerMirror?.startsWith("/")) return false;
  if (mayRunKeyProvider(context)) return false;
  if (settings.providerMirror !== undefined) return true;
  const { XDG_DATA_HOME: own, XDG_DATA_DIRS: all } = claim.job.config_snapshot.environment ?? {};
  const shared = [own, ...(all ?? "/usr/local/share:/usr/share").split(delimiter)].filter(Boolean);
  const places = shared.flatMap((each) => [
    join(each ?? "", "terraform", "plugins"),
    join(each ?? "", "opentofu", "plugins"),
  ]);
  return ![join(facts.folder ?? "", "terraform.d", "plugins"), ...places].some(existsSync);
}

/** OpenTofu 1.7 and 1.8 call key providers at every `init`; one for AWS can run a program. */
const mayRunKeyProvider = ({ workspace, facts: { engine, folder } }: JobContext): boolean =>
  engine?.engine === "opentofu" &&
  folder !== undefined &&
  mentions(workspace.root, folder, ["encryption"]);

/** When it was last used, for the removal of unused packages. */
function touch(path: string): void {
  const now = new Date();
  utimesSync(path, now, now);
}
