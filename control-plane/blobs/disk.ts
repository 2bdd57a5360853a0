/**
 * Blobs as private files of one directory: `<first two hex digits>/<the rest>` of a random name.
 *
 * Content is written to a temporary file, flushed, then renamed: a blob is either complete or
 * absent, also after a power failure.
 */
import { createHash } from "node:crypto";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeDirectory } from "../../common/files.ts";
import type { Blobs, WrittenBlob } from "./blobs.ts";
import { isName, newName, pathOf } from "./names.ts";
import { measured } from "./pieces.ts";

/** The directory of incomplete blobs, emptied at start: only a crash leaves something in it. */
const unfinished = "unfinished";

/** Only one server at a time may use the directory, unless it is shared. */
export async function diskBlobs(
  directory: string,
  { isShared = false }: { readonly isShared?: boolean } = {},
): Promise<Blobs> {
  const temporary = join(directory, unfinished);
  makeDirectory(temporary, 0o700);
  const sweep = async (before: number) => {
    for (const name of await readdir(temporary)) {
      const file = join(temporary, name);
      if ((await changedAt(file)) < before) await rm(file, { force: true });
    }
  };
  // Other servers write there if it is shared.
  if (!isShared) await sweep(Infinity);
  const subdirectories = new Subdirectories(directory);

  return {
    write: async (content, limit, name = newName()) => {
      const file = join(temporary, name);
      const path = join(directory, pathOf(name));
      try {
        const { size_bytes, sha256 } = await writeDurably(file, content, limit);
        await subdirectories.make(dirname(path));
        await rename(file, path);
        await flush(dirname(path));
        return { blob: name, size_bytes, sha256 };
      } catch (error) {
        for (const left of [file, path]) await rm(left, { force: true });
        throw error;
      }
    },
    read: async (blob, range) => {
      const file = await open(join(directory, pathOf(blob)), "r");
      return file.createReadStream(range);
    },
    list: async function* () {
      for (const first of await readdir(directory)) {
        if (!/^[0-9a-f]{2}$/.test(first)) continue;
        const names = await readdir(join(directory, first));
        yield names.map((name) => first + name).filter(isName);
      }
    },
    writtenAt: (blob) => changedAt(join(directory, pathOf(blob))),
    delete: (blob) => rm(join(directory, pathOf(blob)), { force: true }),
    sweep,
  };
}

/** Directories that exist: each is created, and its entry in the directory flushed, only once. */
class Subdirectories {
  readonly #directory: string;
  readonly #made = new Map<string, Promise<void>>();
  constructor(directory: string) {
    this.#directory = directory;
  }

  make(path: string): Promise<void> {
    let made = this.#made.get(path);
    if (made === undefined) {
      made = mkdir(path, { recursive: true, mode: 0o700 }).then(() => flush(this.#directory));
      this.#made.set(path, made);
      made.catch(() => this.#made.delete(path));
    }
    return made;
  }
}

/** Returns when a file was written; Infinity if there is none. */
async function changedAt(path: string): Promise<number> {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return Infinity;
    throw error;
  }
}

async function writeDurably(
  path: string,
  content: AsyncIterable<Uint8Array>,
  limit: number,
): Promise<Omit<WrittenBlob, "blob">> {
  const seen = { hash: createHash("sha256"), size: 0 };
  await using file = await open(path, "wx", 0o600);
  for await (const chunk of measured(content, limit, seen)) await file.writeFile(chunk);
  await file.sync();
  return { size_bytes: seen.size, sha256: seen.hash.digest("hex") };
}

/** Without it, a renamed file may be missing after a power failure. */
async function flush(directory: string): Promise<void> {
  await using handle = await open(directory, "r");
  await handle.sync();
}
