/**
 * Blobs as private files of one directory: `<first two hex digits>/<the rest>` of a random name.
 *
 * Content is written to a temporary file, flushed, then renamed: a blob is either complete or
 * absent, also after a power failure.
 */
import { createHash, randomBytes } from "node:crypto";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { RefusalError } from "../domain/refusal.ts";
import type { Blobs, WrittenBlob } from "./blobs.ts";

/**
 * The directory of incomplete blobs; emptied at start, because only a crash leaves something in it.
 */
const unfinished = "unfinished";

/**
 * Opens the directory, and creates it if there is none. Only one server at a time uses it, unless
 * it is shared.
 */
export async function diskBlobs(
  directory: string,
  { isShared = false }: { readonly isShared?: boolean } = {},
): Promise<Blobs> {
  const temporary = join(directory, unfinished);
  await mkdir(temporary, { recursive: true, mode: 0o700 });
  // Other servers write there.
  for (const name of isShared ? [] : await readdir(temporary)) await rm(join(temporary, name));
  const folders = new Folders(directory);

  return {
    write: async (content, limit) => {
      const name = randomBytes(16).toString("hex");
      const file = join(temporary, name);
      const { folder, path } = placeOf(directory, name);
      try {
        const { size_bytes, sha256 } = await writeDurably(file, content, limit);
        await folders.make(folder);
        await rename(file, path);
        await flush(folder);
        return { blob: name, size_bytes, sha256 };
      } catch (error) {
        for (const left of [file, path]) await rm(left, { force: true });
        throw error;
      }
    },
    read: async (blob, range) => {
      const file = await open(placeOf(directory, blob).path, "r");
      return file.createReadStream(range);
    },
    list: async function* () {
      for (const folder of await readdir(directory)) {
        if (!/^[0-9a-f]{2}$/.test(folder)) continue;
        const names = await readdir(join(directory, folder));
        yield names.map((name) => folder + name).filter((name) => pattern.test(name));
      }
    },
    writtenAt: async (blob) => {
      try {
        return (await stat(placeOf(directory, blob).path)).mtimeMs;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return Infinity;
        throw error;
      }
    },
    delete: (blob) => rm(placeOf(directory, blob).path, { force: true }),
  };
}

/** Directories that exist: each is created, and its entry in the directory flushed, only once. */
class Folders {
  readonly #directory: string;
  readonly #made = new Map<string, Promise<void>>();
  constructor(directory: string) {
    this.#directory = directory;
  }

  make(folder: string): Promise<void> {
    let made = this.#made.get(folder);
    if (made === undefined) {
      made = mkdir(folder, { recursive: true, mode: 0o700 }).then(() => flush(this.#directory));
      this.#made.set(folder, made);
      made.catch(() => this.#made.delete(folder));
    }
    return made;
  }
}

const pattern = /^[0-9a-f]{32}$/;

function placeOf(directory: string, blob: string): { folder: string; path: string } {
  if (!pattern.test(blob)) throw new TypeError(`"${blob}" is not the name of a blob`);
  const folder = join(directory, blob.slice(0, 2));
  return { folder, path: join(folder, blob.slice(2)) };
}

async function writeDurably(
  path: string,
  content: AsyncIterable<Uint8Array>,
  limit: number,
): Promise<Omit<WrittenBlob, "blob">> {
  const hash = createHash("sha256");
  let size = 0;
  await using file = await open(path, "wx", 0o600);
  for await (const chunk of content) {
    size += chunk.byteLength;
    if (size > limit)
      throw new RefusalError("payload_too_large", `the body may have at most ${limit} bytes`);
    hash.update(chunk);
    await file.writeFile(chunk);
  }
  await file.sync();
  return { size_bytes: size, sha256: hash.digest("hex") };
}

/**
 * Flushes a directory, so that a file that was renamed into it is still there after a power
 * failure.
 */
async function flush(folder: string): Promise<void> {
  await using handle = await open(folder, "r");
  await handle.sync();
}
