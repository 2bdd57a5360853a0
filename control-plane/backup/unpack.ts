/** Trusts nothing in a backup: checks names, types, sizes, digests and the database. */
import { once } from "node:events";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { finished, pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import type * as Tar from "tar";
import { checkSchema } from "../store/migrate.ts";
import { openSnapshot } from "../store/storage/snapshot.ts";
import { digestOf, flushDirectory, withProgress } from "./files.ts";
import {
  blobPath,
  databaseName,
  manifestName,
  mayHold,
  parseManifest,
  type Manifest,
} from "./manifest.ts";

/** The archive cannot be restored; the message says why. */
export class BadBackupError extends Error {
  override readonly name = "BadBackupError";
}

/** All files are durable when it returns. Throws `BadBackupError`. */
export async function unpackBackup(file: string, into: string): Promise<Manifest> {
  const unpacked = await extract(file, into);
  if (!unpacked.has(manifestName)) throw new BadBackupError("it has no manifest");
  const manifest = readManifest(await readFile(join(into, manifestName), "utf8"));
  await checkMembers(into, unpacked, manifest);
  checkDatabase(into, unpacked, manifest);
  return manifest;
}

function readManifest(text: string): Manifest {
  try {
    const manifest = parseManifest(text);
    checkSchema({ version: manifest.schema_version, compatible_since: null });
    return manifest;
  } catch (error) {
    throw new BadBackupError((error as Error).message);
  }
}

/** Writes the files that a backup may contain, and refuses the archive at the first other entry. */
async function extract(file: string, into: string): Promise<Set<string>> {
  const tar = await import("tar");
  const unpacked = new Set<string>();
  const writing: Promise<void>[] = [];
  const stop = new AbortController();
  // The first error counts. It is checked between two pieces and at the end, because the parser
  // continues after it.
  let refusal: Error | undefined;
  const refused = Promise.withResolvers<void>();
  const refuse = (error: Error) => {
    refusal ??= error;
    refused.resolve();
  };
  const parser = new tar.Parser({
    strict: true,
    onReadEntry: (entry: Tar.ReadEntry) => {
      const why = refusalOf(entry, unpacked);
      if (why !== undefined) {
        refuse(new BadBackupError(why));
        return entry.resume();
      }
      unpacked.add(entry.path);
      const written = writeEntry(entry, join(into, entry.path), stop.signal);
      written.catch(refuse);
      writing.push(written);
    },
  });
  parser.on("error", refuse);
  const ended = new Promise<void>((resolve) => void parser.once("end", resolve));
  const check = () => {
    if (refusal !== undefined) throw refusal;
  };
  try {
    // Decompressed here, because the parser ends before the checksum at the end of the file is
    // checked.
    await pipeline(createReadStream(file), createGunzip(), async (pieces) => {
      for await (const piece of pieces) {
        const hasRoom = parser.write(piece as Buffer);
        check();
        if (!hasRoom) await Promise.race([once(parser, "drain"), refused.promise]);
        check();
      }
    });
    parser.end();
    await Promise.race([ended, refused.promise]);
    check();
    await Promise.all(writing);
    check();
    return unpacked;
  } catch (error) {
    stop.abort();
    await Promise.allSettled(writing);
    const { code, message } = error as NodeJS.ErrnoException;
    // An error of the disk is not a fault of the archive.
    if (error instanceof BadBackupError || isDiskTrouble(code)) throw error;
    throw new BadBackupError(`it is incomplete or damaged: ${message}`);
  }
}

function refusalOf(
  { type, path }: Tar.ReadEntry,
  unpacked: ReadonlySet<string>,
): string | undefined {
  if (type !== "File" && type !== "OldFile")
    return `"${path}" in it is a ${type}, not a regular file`;
  if (!mayHold(path)) return `"${path}" does not belong there`;
  return unpacked.has(path) ? `"${path}" is in it twice` : undefined;
}

const isDiskTrouble = (code: string | undefined): boolean =>
  code !== undefined && /^(ENOSPC|EDQUOT|EACCES|EPERM|EIO|ENOENT|EROFS|EISDIR)$/.test(code);

async function writeEntry(entry: Tar.ReadEntry, path: string, signal: AbortSignal) {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  signal.throwIfAborted();
  const file = createWriteStream(path, { signal, flags: "wx", mode: 0o600 });
  const isWritten = finished(file);
  entry.pipe(file);
  await isWritten;
}

async function checkMembers(
  into: string,
  unpacked: ReadonlySet<string>,
  { members }: Manifest,
): Promise<void> {
  const listed = new Set([manifestName, ...members.map(({ path }) => path)]);
  for (const path of unpacked)
    if (!listed.has(path)) throw new BadBackupError(`its manifest does not list "${path}"`);
  const directories = new Set([into]);
  const check = async (step: () => void): Promise<void> => {
    for (const { path, size_bytes, sha256 } of members) {
      if (!unpacked.has(path)) throw new BadBackupError(`"${path}" is missing`);
      const is = await digestOf(join(into, path), true);
      if (is.sha256 !== sha256 || is.size_bytes !== size_bytes)
        throw new BadBackupError(`"${path}" is damaged`);
      directories.add(dirname(join(into, path)));
      step();
    }
    for (const directory of directories) await flushDirectory(directory);
  };
  await withProgress("checking", () => members.length, check);
}

function checkDatabase(into: string, unpacked: ReadonlySet<string>, manifest: Manifest): void {
  if (!unpacked.has(databaseName)) throw new BadBackupError("it has no database");
  const snapshot = opened(join(into, databaseName));
  try {
    const [defect] = snapshot.defects();
    if (defect !== undefined) throw new BadBackupError(`its database is damaged: ${defect}`);
    if (snapshot.schema !== manifest.schema_version)
      throw new BadBackupError("its database does not match its manifest");
    for (const blob of manifest.blobs === undefined ? snapshot.blobs() : [])
      if (!unpacked.has(blobPath(blob)))
        throw new BadBackupError(`its database names ${blobPath(blob)}, which is missing`);
  } finally {
    snapshot.close();
  }
}

function opened(file: string) {
  try {
    return openSnapshot(file);
  } catch (error) {
    throw new BadBackupError(`its database cannot be read: ${(error as Error).message}`);
  }
}
