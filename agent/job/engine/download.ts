/**
 * Downloads a release of an engine into the cache: newest version → checksums and signature → zip →
 * binary → printed version → rename, before which no job can find it.
 */
import {
  createWriteStream,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
} from "node:fs";
import { chmod } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { LockHeldError, lockDirectory } from "../../machine/lock.ts";
import type { Network } from "../../../common/network.ts";
import { fetchBytes, fetchFile } from "./fetch.ts";
import type { Engine } from "../../../protocol/configurations.ts";
import { askVersion, cachedPath, programs, type Installed } from "./installed.ts";
import { releases } from "./releases.ts";
import { signedChecksum } from "./signature.ts";
import {
  compareVersions,
  parseConstraint,
  parseVersion,
  type Constraint,
  type Version,
} from "../../../common/version-constraint.ts";
import { gibibyte, mebibyte } from "../../../common/units.ts";

export interface DownloadOptions {
  readonly engine: Engine;
  readonly constraint: Constraint;
  /** Undefined: the public releases. */
  readonly mirror: string | undefined;
  /** Armored OpenPGP keys that may sign releases; default: the pinned one of the engine. */
  readonly publicKeys?: string | undefined;
  readonly cacheDirectory: string;
  readonly path: string;
  readonly network: Network;
  readonly signal: AbortSignal;
  readonly limits: DownloadLimits;
  /** Reports what is being done from now on. */
  onPhase(text: () => string): void;
}

/** In bytes: many times the size of real releases, and small for a disk. */
export interface DownloadLimits {
  readonly index: number;
  readonly zip: number;
  readonly binary: number;
}

export const usualLimits: DownloadLimits = {
  index: 64 * mebibyte,
  zip: 512 * mebibyte,
  binary: gibibyte,
};

/** Returns the installed binary. Throws an error of one line. */
export async function downloadEngine(options: DownloadOptions): Promise<Installed> {
  const version = await chooseVersion(options);
  const path = cachedPath(options.engine, version, options.cacheDirectory);
  const unlock = await lockVersion(dirname(path), version, options);
  try {
    // Another agent may have installed it in the meantime.
    if (
      (await askVersion(path, options.path, dirname(path), options.signal))?.text === version.text
    )
      return { path, version };
    await install(version, path, options);
    return { path, version };
  } finally {
    unlock();
  }
}

/** Returns the newest stable release that a mirror offers. Throws an error of one line. */
export const newestRelease = (
  options: Pick<DownloadOptions, "engine" | "mirror" | "network" | "signal">,
): Promise<Version> =>
  chooseVersion({
    ...options,
    constraint: parseConstraint(null),
    limits: usualLimits,
    onPhase: () => undefined,
  });

async function chooseVersion(
  options: Omit<DownloadOptions, "publicKeys" | "cacheDirectory" | "path">,
): Promise<Version> {
  const { engine, constraint, network, signal, limits, onPhase } = options;
  const { usual, list } = releases[engine];
  const mirror = options.mirror ?? usual.list;
  onPhase(() => `reading the list of ${programs[engine]} releases at ${mirror}`);
  const address = mirror + list;
  const bytes = await fetchBytes(address, { limit: limits.index, network, signal });
  const offered = versionsIn(engine, bytes, address).filter(
    ({ pre }) => pre === "" || constraint.text !== "",
  );
  const sorted = offered.toSorted((a, b) => compareVersions(b, a));
  const fitting = sorted.find(constraint.admits);
  if (fitting) return fitting;
  const newest = sorted.find(({ pre }) => pre === "");
  throw new Error(
    `no release of ${programs[engine]} at ${mirror} for ${platform()} is ${constraint.text || "stable"}` +
      (newest ? ` (the newest one there is ${newest.text})` : ""),
  );
}

/** Versions that have a zip for this platform. */
function versionsIn(engine: Engine, bytes: Buffer, address: string): Version[] {
  try {
    return releases[engine]
      .versions(JSON.parse(bytes.toString("utf8")), platform())
      .flatMap((name) => parseVersion(name) ?? []);
  } catch {
    throw new Error(`${address} is not a list of releases`);
  }
}

async function install(version: Version, path: string, options: DownloadOptions): Promise<void> {
  const { engine, network, signal, limits, onPhase } = options;
  const { usual, folder: at, signature: extension, key } = releases[engine];
  const program = programs[engine];
  const folder = dirname(path);
  const release = (options.mirror ?? usual.files) + at(version.text);
  const prefix = `${program}_${version.text}`;
  const zip = `${prefix}_${platform()}.zip`;
  removePartials(folder);
  const partial = mkdtempSync(join(folder, partialPrefix));
  try {
    onPhase(() => `reading the checksums of ${program} ${version.text}`);
    const small = { limit: mebibyte, network, signal };
    const sums = await fetchBytes(`${release}/${prefix}_SHA256SUMS`, small);
    const signature = await fetchBytes(`${release}/${prefix}_SHA256SUMS${extension}`, small);
    const expected = await signedChecksum(zip, sums, signature, options.publicKeys ?? key);

    let bytes = 0;
    const megabytes = (): string => (bytes / 1_000_000).toFixed(1);
    onPhase(() => `downloading ${release}/${zip}: ${megabytes()} MB so far`);
    const actual = await fetchFile(`${release}/${zip}`, join(partial, "release.zip"), {
      limit: limits.zip,
      network,
      signal,
      onBytes: (count) => (bytes = count),
    });
    if (actual !== expected) {
      throw new Error(
        `${zip} does not match its signed checksum: it is damaged or was tampered with`,
      );
    }

    onPhase(() => `unpacking ${program} ${version.text}`);
    const binary = join(partial, program);
    await unpack(join(partial, "release.zip"), program, binary, limits.binary, signal);
    await chmod(binary, 0o755);
    const said = await askVersion(binary, options.path, partial, signal);
    if (said?.text !== version.text) {
      throw new Error(
        `the binary in ${zip} ${said ? `reports version ${said.text}` : "does not run on this machine"}`,
      );
    }
    renameSync(binary, path);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

/** Unpacks the one file from the zip, whatever else there is. Names in the zip decide no path. */
async function unpack(
  zip: string,
  program: string,
  file: string,
  limit: number,
  signal: AbortSignal,
): Promise<void> {
  const { openPromise } = await import("yauzl");
  // Sizes are checked against the size in the entry while it is read, so a zip bomb ends at the
  // limit.
  const archive = await openPromise(zip, { lazyEntries: true, autoClose: false });
  try {
    for await (const entry of archive.eachEntry()) {
      if (entry.fileName !== program) continue;
      if (entry.uncompressedSize > limit) {
        throw new Error(`the binary in the release is larger than ${limit} bytes`);
      }
      const content = await archive.openReadStreamPromise(entry);
      await pipeline(content, createWriteStream(file, { flags: "wx", mode: 0o700 }), { signal });
      return;
    }
  } finally {
    archive.close();
  }
  throw new Error(`the release has no file ${program}`);
}

const partialPrefix = ".partial-";

/** Removes what a killed agent left. The caller holds the version's lock. */
function removePartials(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (name.startsWith(partialPrefix))
      rmSync(join(folder, name), { recursive: true, force: true });
  }
}

async function lockVersion(
  folder: string,
  version: Version,
  { engine, signal, onPhase }: DownloadOptions,
): Promise<() => void> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  onPhase(() => `waiting for another job that installs ${programs[engine]} ${version.text}`);
  for (;;) {
    try {
      return await lockDirectory(folder);
    } catch (error) {
      if (!(error instanceof LockHeldError)) throw error;
    }
    await sleep(100, undefined, { signal });
  }
}

/** The platform, as releases name it. */
function platform(): string {
  const systems: Partial<Record<NodeJS.Platform, string>> = { win32: "windows", sunos: "solaris" };
  const machines: Partial<Record<NodeJS.Architecture, string>> = { x64: "amd64", ia32: "386" };
  return `${systems[process.platform] ?? process.platform}_${machines[process.arch] ?? process.arch}`;
}
