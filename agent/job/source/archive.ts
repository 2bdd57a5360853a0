/** Unpacks archives of terraform files: checks the digest and every entry before it writes. */
import { createHash } from "node:crypto";
import { createReadStream, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import type * as Tar from "tar";
import { StepFailedError } from "../context.ts";
import type { SourceRevision } from "../plan/manifest.ts";
import { isSafePath } from "./inline.ts";
import { mebibyte } from "../../../common/units.ts";

export interface ArchiveLimits {
  readonly entries: number;
  /** All files, unpacked. */
  readonly bytes: number;
}
const sourceLimits: ArchiveLimits = { entries: 20_000, bytes: 512 * mebibyte };

/** Unpacks a downloaded source archive into an empty directory. */
export async function unpackSource(
  file: string,
  sha256: string,
  folder: string,
): Promise<SourceRevision> {
  const digest = await sha256Of(file);
  if (digest !== sha256) {
    throw new StepFailedError(`source: the archive is damaged (SHA-256 ${digest}, not ${sha256})`);
  }
  await unpack(file, folder, sourceLimits, "source");
  return { type: "archive", digest };
}

/**
 * Refuses links, devices, paths that lead elsewhere and what exceeds the limits, before the first
 * byte is written. Of modes, only the executable bit is kept.
 */
export async function unpack(
  file: string,
  folder: string,
  limits: ArchiveLimits,
  what: string,
  mayContain: (path: string) => boolean = () => true,
): Promise<void> {
  // Loading tar takes 25 ms; inline sources do not need it.
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
    throw new StepFailedError(`${what}: the archive cannot be unpacked: ${message}`);
  }
}

/** Names too long, or of both a file and a directory. Other errors are this machine's. */
const faultsOfArchives = /^(TAR_.*|ENAMETOOLONG|ENOTDIR|EISDIR|EEXIST|ENOTEMPTY)$/;

/** In hex. Small files are read at once: a stream takes longer to set up. */
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
    source.destroy(new StepFailedError(`${what}: the archive is refused: ${why}`));
  };
  const parser = new tar.Parser({
    strict: true,
    onReadEntry: (entry: Tar.ReadEntry) => {
      const path = entry.path.replace(/^(\.\/)+/, "").replace(/\/+$/, "");
      if (!plainTypes.has(entry.type))
        refuse(`"${entry.path}" is a ${entry.type}, not a regular file or directory`);
      else if (path !== "" && path !== "." && !isSafePath(path))
        refuse(`"${entry.path}" is not a valid relative path`);
      else if (path !== "" && !mayContain(path)) refuse(`"${entry.path}" is not expected in it`);
      else if (++entries > limits.entries || !fits(path, places, limits.entries))
        refuse(`it has more than ${limits.entries} entries`);
      entry.on("data", (part: Buffer) => {
        bytes += part.length;
        if (bytes > limits.bytes) refuse(`unpacked, it has more than ${limits.bytes} bytes`);
      });
      entry.resume();
    },
  });
  // The library skips kinds of entries that it does not know without an error.
  parser.on("ignoredEntry", ({ path, type }: Tar.ReadEntry) => refuse(`"${path}" is a ${type}`));
  try {
    await new Promise<void>((resolve, reject) => {
      source.on("error", reject);
      parser.on("error", reject);
      parser.on("end", () => resolve());
      source.pipe(parser);
    });
  } catch (error) {
    if (error instanceof StepFailedError) throw error;
    const { message } = error as Error;
    // The library keeps a small archive from taking minutes to decompress.
    if (message.includes("decompression ratio"))
      throw new StepFailedError(
        `${what}: the archive is refused: it is more than 1,000 times larger when it is decompressed. Leave out large files without content, such as images of zeros (.windlassignore)`,
      );
    throw new StepFailedError(`${what}: the archive cannot be read: ${message}`);
  } finally {
    source.destroy();
  }
}

/** Counts directories that are made on the way too, because one long name can need thousands. */
function fits(path: string, places: Set<string>, limit: number): boolean {
  for (let at = path; at !== "." && !places.has(at) && places.size <= limit; at = dirname(at)) {
    places.add(at);
  }
  return places.size <= limit;
}

const plainTypes = new Set(["File", "OldFile", "ContiguousFile", "Directory"]);
