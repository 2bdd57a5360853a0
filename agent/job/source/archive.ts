/** Archives of terraform files: the digest first, then a look at every entry, and only then is anything written. */
import { createHash } from "node:crypto";
import { createReadStream, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import type * as Tar from "tar";
import { StepFailed } from "../context.ts";
import type { SourceRevision } from "../plan/manifest.ts";
import { isSafePath } from "./inline.ts";
import { mebibyte } from "../../../common/units.ts";

export interface ArchiveLimits {
  readonly entries: number;
  /** Of all files, unpacked. */
  readonly bytes: number;
}
const sourceLimits: ArchiveLimits = { entries: 20_000, bytes: 512 * mebibyte };

/** Unpacks a downloaded source archive into an empty folder. */
export async function unpackSource(
  file: string,
  sha256: string,
  folder: string,
): Promise<SourceRevision> {
  const digest = await sha256Of(file);
  if (digest !== sha256) {
    throw new StepFailed(`source: the archive is damaged (SHA-256 ${digest}, not ${sha256})`);
  }
  await unpack(file, folder, sourceLimits, "source");
  return { type: "archive", digest };
}

/**
 * Unpacks a `.tar.gz` of plain files and folders. Links, devices and anything that would land elsewhere are refused before the first
 * byte is written, as is more than the limits allow. Modes are reduced to "executable or not".
 */
export async function unpack(
  file: string,
  folder: string,
  limits: ArchiveLimits,
  what: string,
  mayContain: (path: string) => boolean = () => true,
): Promise<void> {
  // tar takes 25 ms to load; inline sources never need it.
  const tar = await import("tar");
  await inspect(tar, file, limits, what, mayContain);
  try {
    await tar.extract({
      file,
      cwd: folder,
      strict: true,
      noMtime: true,
      dmode: 0o700,
      filter: (_path, entry) => {
        if ("type" in entry) entry.mode = (entry.mode ?? 0) & 0o100 ? 0o700 : 0o600;
        return true;
      },
    });
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    if (!faultsOfArchives.test(code)) throw error;
    throw new StepFailed(`${what}: the archive cannot be unpacked: ${message}`);
  }
}

/** Names that are too long, and one name for a file and a folder. Anything else that fails is this machine's. */
const faultsOfArchives = /^(TAR_.*|ENAMETOOLONG|ENOTDIR|EISDIR|EEXIST|ENOTEMPTY)$/;

/** The SHA-256 of a file, in hex. Small files are read at once: a stream takes longer to set up than they take to hash. */
export async function sha256Of(file: string): Promise<string> {
  const digest = createHash("sha256");
  if (statSync(file).size <= smallFile) return digest.update(readFileSync(file)).digest("hex");
  await pipeline(createReadStream(file), digest);
  return digest.digest("hex");
}

const smallFile = mebibyte;

async function inspect(
  tar: typeof Tar,
  file: string,
  limits: ArchiveLimits,
  what: string,
  mayContain: (path: string) => boolean,
): Promise<void> {
  const source = createReadStream(file);
  const places = new Set<string>();
  let entries = 0;
  let bytes = 0;
  const refuse = (why: string): void => {
    source.destroy(new StepFailed(`${what}: the archive is refused: ${why}`));
  };
  const parser = new tar.Parser({
    strict: true,
    onReadEntry: (entry: Tar.ReadEntry) => {
      const path = entry.path.replace(/^(\.\/)+/, "").replace(/\/+$/, "");
      if (!plainTypes.has(entry.type)) refuse(`"${entry.path}" is a ${entry.type}`);
      else if (path !== "" && path !== "." && !isSafePath(path))
        refuse(`"${entry.path}" as a path`);
      else if (path !== "" && !mayContain(path)) refuse(`"${entry.path}" does not belong there`);
      else if (++entries > limits.entries || !fits(path, places, limits.entries))
        refuse(`over ${limits.entries} entries`);
      entry.on("data", (part: Buffer) => {
        bytes += part.length;
        if (bytes > limits.bytes) refuse(`over ${limits.bytes} bytes unpacked`);
      });
      entry.resume();
    },
  });
  // Kinds that the library does not know it would pass over without a word.
  parser.on("ignoredEntry", ({ path, type }: Tar.ReadEntry) => refuse(`"${path}" is a ${type}`));
  try {
    await new Promise<void>((resolve, reject) => {
      source.on("error", reject);
      parser.on("error", reject);
      parser.on("end", () => resolve());
      source.pipe(parser);
    });
  } catch (error) {
    if (error instanceof StepFailed) throw error;
    throw new StepFailed(`${what}: the archive cannot be read: ${(error as Error).message}`);
  } finally {
    source.destroy();
  }
}

/** Also folders that are made on the way count: one long name can ask for thousands. */
function fits(path: string, places: Set<string>, limit: number): boolean {
  for (let at = path; at !== "." && !places.has(at) && places.size <= limit; at = dirname(at)) {
    places.add(at);
  }
  return places.size <= limit;
}

const plainTypes = new Set(["File", "OldFile", "ContiguousFile", "Directory"]);
