/**
 * Downloads a release of terraform into the cache: newest version that satisfies the constraint →
 * checksums and their signature → zip → binary → the version that it prints → rename. Until the
 * rename no job can find it.
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
import type { Network } from "../../machine/network.ts";
import { fetchBytes, fetchFile } from "./fetch.ts";
import { askVersion, cachedPath, type Installed } from "./installed.ts";
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
  readonly constraint: Constraint;
  readonly mirror: string;
  readonly publicKeys: string;
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

const program = "terraform";

/** Returns the installed binary. Throws an error of one line. */
export async function downloadTerraform(options: DownloadOptions): Promise<Installed> {
  const version = await chooseVersion(options);
  const path = cachedPath("terraform", version, options.cacheDirectory);
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
  options: Pick<DownloadOptions, "mirror" | "network" | "signal">,
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
  const { constraint, mirror, network, signal, limits, onPhase } = options;
  const address = `${mirror}/${program}/index.json`;
  onPhase(() => `reading the list of terraform releases at ${mirror}`);
  const bytes = await fetchBytes(address, { limit: limits.index, network, signal });
  const offered = versionsIn(bytes, address).filter(
    ({ pre }) => pre === "" || constraint.text !== "",
  );
  const sorted = offered.toSorted((a, b) => compareVersions(b, a));
  const fitting = sorted.find(constraint.admits);
  if (fitting) return fitting;
  const newest = sorted.find(({ pre }) => pre === "");
  throw new Error(
    `no release of terraform at ${mirror} for ${platform()} is ${constraint.text || "stable"}` +
      (newest ? ` (the newest one there is ${newest.text})` : ""),
  );
}

/** Versions that have a build for this platform. Editions (`1.2.3+ent`) are other products. */
function versionsIn(bytes: Buffer, address: string): Version[] {
  let index: { versions?: Record<string, { builds?: { os?: string; arch?: string }[] }> };
  try {
    index = JSON.parse(bytes.toString("utf8")) as typeof index;
  } catch {
    throw new Error(`${address} is not a list of releases`);
  }
  return Object.entries(index.versions ?? {})
    .filter(([name]) => !name.includes("+"))
    .filter(([, { builds }]) => builds?.some(({ os, arch }) => `${os}_${arch}` === platform()))
    .flatMap(([name]) => parseVersion(name) ?? []);
}

async function install(version: Version, path: string, options: DownloadOptions): Promise<void> {
  const { mirror, publicKeys, network, signal, limits, onPhase } = options;
  const folder = dirname(path);
  const release = `${mirror}/${program}/${version.text}`;
  const prefix = `${program}_${version.text}`;
  const zip = `${prefix}_${platform()}.zip`;
  removePartials(folder);
  const partial = mkdtempSync(join(folder, partialPrefix));
  try {
    onPhase(() => `reading the checksums of terraform ${version.text}`);
    const small = { limit: mebibyte, network, signal };
    const sums = await fetchBytes(`${release}/${prefix}_SHA256SUMS`, small);
    const signature = await fetchBytes(`${release}/${prefix}_SHA256SUMS.sig`, small);
    const expected = await signedChecksum(zip, sums, signature, publicKeys);

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

    onPhase(() => `unpacking terraform ${version.text}`);
    const binary = join(partial, program);
    await unpack(join(partial, "release.zip"), binary, limits.binary, signal);
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
  { signal, onPhase }: DownloadOptions,
): Promise<() => void> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  onPhase(() => `waiting for another job that installs terraform ${version.text}`);
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
