/**
 * Provider packages that jobs on this machine have installed, kept for later ones. The store
 * belongs to the agent, and its files have no permission to write: jobs only read them. A package is
 * added complete, by a rename, and never changes. Terraform gets links to the packages that a job
 * may use.
 *
 * At the level `process` jobs could write here. There the agent uses only what this very process
 * has stored, and compares its hash before every use.
 *
 * Files: `providers/HOST/NAMESPACE/TYPE/VERSION/PLATFORM` and beside it `PLATFORM.json`.
 */
import {
  chmodSync,
  chownSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
} from "node:fs";
import { copyFile } from "node:fs/promises";
import { createHash } from "node:crypto";
import { dirname, join, relative, sep } from "node:path";
import { readIfExists } from "../../../common/files.ts";
import { writeWhole } from "../../machine/files.ts";
import type { Level } from "../isolation/isolation.ts";
import { sha256Of } from "../source/archive.ts";

export interface ProviderPackage {
  /** `registry.terraform.io/hashicorp/aws`. */
  readonly address: string;
  readonly version: string;
  /** `linux_amd64`. */
  readonly platform: string;
}

export interface FoundPackage extends ProviderPackage {
  readonly path: string;
}

export interface StoredPackage extends FoundPackage {
  readonly record: PackageRecord;
}

export interface PackageRecord {
  /** Terraform's hash of the unpacked package. */
  readonly h1: string;
  /** Those of all platforms, from terraform's lock file after a download; null without one. */
  readonly hashes: readonly string[] | null;
  /** The mirror that it came from, if that named no hashes. */
  readonly mirror?: string | undefined;
  /** Those of zips in a lock file for which terraform took the package; one of them is its own. */
  readonly zips?: readonly string[] | undefined;
  readonly bytes: number;
}

/** Returns the directory in which an agent with this work directory keeps packages. */
export const storeFolder = (workDir: string): string => join(workDir, "providers");
/** A copy in progress, not yet visible to other jobs. */
export const partialPrefix = ".partial-";

export const packagePath = (
  store: string,
  { address, version, platform }: ProviderPackage,
): string => join(store, address, version, platform);

const recordPath = (path: string): string => `${path}.json`;

/** In the store or in a `.terraform/providers`. Skips names that no package can have. */
export function packagesIn(folder: string): FoundPackage[] {
  const found: FoundPackage[] = [];
  for (const host of level(folder, /^[a-z0-9][a-z0-9.-]*(:\d+)?$/))
    for (const space of level(join(folder, host), word))
      for (const type of level(join(folder, host, space), word))
        for (const version of level(join(folder, host, space, type), /^\d[0-9A-Za-z.+-]*$/)) {
          const above = join(folder, host, space, type, version);
          for (const platform of level(above, /^[a-z0-9]+_[a-z0-9]+$/)) {
            const address = `${host}/${space}/${type}`;
            found.push({ address, version, platform, path: join(above, platform) });
          }
        }
  return found;
}

const level = (path: string, name: RegExp): string[] =>
  lstatSync(path, { throwIfNoEntry: false })?.isDirectory()
    ? readdirSync(path).filter((each) => name.test(each))
    : [];

const word = /^[0-9A-Za-z](?:[0-9A-Za-z_-]*[0-9A-Za-z])?$/;

/** What this process has stored. */
const storedHere = new Map<string, PackageRecord>();

/** Returns what a job of this level may use; without a level, everything in the store. */
export function storedPackages(store: string, level?: Level): StoredPackage[] {
  return packagesIn(store).flatMap((found) => storedAt(found, level) ?? []);
}

export function storedPackage(
  store: string,
  level: Level,
  wanted: ProviderPackage,
): StoredPackage | undefined {
  const { address, version, platform } = wanted;
  return storedAt({ address, version, platform, path: packagePath(store, wanted) }, level);
}

function storedAt(found: FoundPackage, level: Level | undefined): StoredPackage | undefined {
  const record = level === "process" ? storedHere.get(found.path) : readRecord(found.path);
  const isThere = lstatSync(found.path, { throwIfNoEntry: false })?.isDirectory();
  return record && isThere ? { ...found, record } : undefined;
}

/** Returns false if a job has changed the package, which is then removed. */
export async function isUnchanged({ path, record }: StoredPackage, level: Level): Promise<boolean> {
  if (level !== "process") return true;
  try {
    if ((await packageHash(path)) === record.h1) return true;
  } catch {
    // A link, or a file that no longer exists.
  }
  storedHere.delete(path);
  rmSync(path, { recursive: true, force: true });
  return false;
}

function readRecord(path: string): PackageRecord | undefined {
  try {
    return JSON.parse(readIfExists(recordPath(path)) ?? "") as PackageRecord;
  } catch {
    // A package without a complete record is not used, and the next cleanup removes it.
    return undefined;
  }
}

/** What is known of a package that terraform has downloaded. */
export interface PackageOrigin {
  /** Of the lock file that terraform has written. */
  readonly hashes: readonly string[];
  /** They are those of all platforms, from the registry. */
  readonly isComplete: boolean;
  /** The mirror that it came from. */
  readonly mirror?: string | undefined;
  /** Hashes of the lock file in the source, for one of which terraform took it. */
  readonly source?: readonly string[] | undefined;
  readonly level?: Level;
}

export const zipsIn = (hashes: readonly string[]): string[] =>
  hashes.filter((hash) => hash.startsWith("zh:")).toSorted();

/**
 * Throws if there is anything but plain files, or no match in the lock file. `room` is called with
 * the size before anything is copied.
 */
export async function storePackage(
  store: string,
  found: FoundPackage,
  { hashes, isComplete, mirror, source, level }: PackageOrigin,
  room: (bytes: number) => boolean,
): Promise<void> {
  const path = packagePath(store, found);
  const known = storedAt({ ...found, path }, level)?.record;
  const isNews =
    isComplete ||
    (mirror !== undefined && mirror !== known?.mirror) ||
    (source !== undefined && String(zipsIn(hashes)) !== String(known?.zips));
  if (known && (known.hashes !== null || !isNews)) return;
  const files = filesOf(found.path);
  const bytes = files.reduce((sum, file) => sum + lstatSync(join(found.path, file)).size, 0);
  if (!room(bytes)) return;
  makeOpen(store, dirname(path));
  const partial = mkdtempSync(join(store, partialPrefix));
  try {
    for (const file of files) {
      const [from, to] = [join(found.path, file), join(partial, file)];
      makeOpen(partial, dirname(to));
      await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
      seal(to);
    }
    const h1 = await packageHash(partial);
    if (!hashes.includes(h1))
      throw new Error(`${found.path} does not match the hash in the lock file`);
    // A lock file with the hash of the package says nothing about its zip.
    const zips = source && !source.includes(h1) ? zipsIn(hashes) : known?.zips;
    const record: PackageRecord = {
      h1,
      hashes: isComplete ? hashes : null,
      mirror: mirror ?? known?.mirror,
      zips,
      bytes,
    };
    if (known && known.h1 !== h1)
      throw new Error(`${found.path} differs from the package that is already kept`);
    chmodSync(partial, 0o755);
    // At the level `process`, what an earlier agent has left may be anything.
    if (!storedAt({ ...found, path }, level)) rmSync(path, { recursive: true, force: true });
    writeWhole(recordPath(path), JSON.stringify(record));
    // Another job may have been faster; its package stays.
    if (!existsSync(path)) renameSync(partial, path);
    storedHere.set(path, record);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

/** Read-only and the agent's: `copyFile` keeps the owner, a job's user who could change it. */
function seal(path: string): void {
  chownSync(path, process.getuid?.() ?? -1, process.getgid?.() ?? -1);
  chmodSync(path, (lstatSync(path).mode & 0o100) === 0 ? 0o444 : 0o555);
}

/**
 * Seals what earlier releases stored. A package with a file that another user owned is checked
 * against its hash. Returns the removed ones, which were changed.
 */
export async function repairStore(store: string): Promise<string[]> {
  const changed: string[] = [];
  for (const { path, record } of storedPackages(store)) {
    // It fails for anything but plain files, which the store never had.
    if (await isRepaired(store, path, record).catch(() => false)) continue;
    rmSync(path, { recursive: true, force: true });
    rmSync(recordPath(path), { force: true });
    changed.push(path);
  }
  return changed;
}

async function isRepaired(store: string, path: string, { h1 }: PackageRecord): Promise<boolean> {
  const files = filesOf(path).map((file) => {
    const { uid, mode } = lstatSync(join(path, file));
    return { at: join(path, file), isForeign: uid !== process.getuid?.(), mode };
  });
  for (const { at, isForeign, mode } of files) {
    if (isForeign) await replaceByCopy(store, at);
    else if ((mode & 0o222) !== 0) seal(at);
  }
  return !files.some(({ isForeign }) => isForeign) || (await packageHash(path)) === h1;
}

/** A process may still have the old file open for writing. */
async function replaceByCopy(store: string, path: string): Promise<void> {
  const partial = mkdtempSync(join(store, partialPrefix));
  const copy = join(partial, "copy");
  await copyFile(path, copy, constants.COPYFILE_FICLONE);
  seal(copy);
  renameSync(copy, path);
  rmSync(partial, { recursive: true });
}

/** Terraform's `h1:`: SHA-256 over the sorted list of every file's own SHA-256 and name. */
export async function packageHash(folder: string): Promise<string> {
  const list = createHash("sha256");
  for (const file of filesOf(folder).toSorted((a, b) =>
    Buffer.compare(Buffer.from(a), Buffer.from(b)),
  )) {
    list.update(`${await sha256Of(join(folder, file))}  ${file}\n`);
  }
  return `h1:${list.digest("base64")}`;
}

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => {
      const file = join(entry.parentPath, entry.name);
      if (!entry.isFile()) throw new Error(`${file} is not a regular file`);
      return relative(folder, file).replaceAll(sep, "/");
    });
}

/** From `root` down to `path`, for every user that a job may have. */
export function makeOpen(root: string, path: string): void {
  if (path !== root) makeOpen(root, dirname(path));
  if (existsSync(path)) return;
  mkdirSync(path, { recursive: true });
  chmodSync(path, 0o755);
}
