/** Copies blobs from one place to another unchanged: sealed, and under their names. */
import { createHash } from "node:crypto";
import type { Blobs } from "../blobs/blobs.ts";
import { MoveError } from "../store/moving/tables.ts";

/** An upload of a large blob to S3 holds two parts of 5 MiB in memory. */
const copiesAtOnce = 4;

export interface MovedBlobs {
  files: number;
  size_bytes: number;
  /** Blobs that the database names and the source does not have. */
  readonly missing: string[];
}

export async function hasBlobs(blobs: Blobs): Promise<boolean> {
  for await (const page of blobs.list()) if (page.length > 0) return true;
  return false;
}

/** Reads each copy again; what an earlier run has copied is compared with its source instead. */
export async function moveBlobs(
  names: AsyncGenerator<string>,
  from: Blobs,
  to: Blobs,
  moved: () => void,
): Promise<MovedBlobs> {
  const result: MovedBlobs = { files: 0, size_bytes: 0, missing: [] };
  // Two rows may name one blob.
  const underWay = new Set<string>();
  const work = async () => {
    for await (const name of names) {
      moved();
      if (underWay.has(name)) continue;
      underWay.add(name);
      const size = await moveBlob(name, from, to).finally(() => underWay.delete(name));
      if (size === undefined) {
        result.missing.push(name);
        continue;
      }
      result.files += 1;
      result.size_bytes += size;
    }
  };
  const results = await Promise.allSettled(Array.from({ length: copiesAtOnce }, work));
  for (const ended of results) if (ended.status === "rejected") throw ended.reason;
  return result;
}

interface Content {
  readonly size_bytes: number;
  readonly sha256: string;
}

/** Returns its size; undefined if the source does not have it. */
async function moveBlob(name: string, from: Blobs, to: Blobs): Promise<number | undefined> {
  const there = await contentOf(to, name);
  if (there !== undefined) {
    const source = await contentOf(from, name);
    if (source === undefined || isSame(source, there)) return source?.size_bytes;
    await to.delete(name);
  }
  const content = await ifThere(from.read(name));
  if (content === undefined) return undefined;
  const written = await to.write(content, Infinity, name);
  const copy = await contentOf(to, name);
  if (copy !== undefined && isSame(written, copy)) return written.size_bytes;
  throw new MoveError(
    `the file ${name} differs: the source has ${written.size_bytes} bytes (SHA-256 ${written.sha256}), the copy ${copy === undefined ? "does not exist" : `${copy.size_bytes} (${copy.sha256})`}. Check the target's disk or bucket, then move again`,
  );
}

const isSame = (one: Content, other: Content): boolean =>
  one.size_bytes === other.size_bytes && one.sha256 === other.sha256;

async function contentOf(blobs: Blobs, name: string): Promise<Content | undefined> {
  const content = await ifThere(blobs.read(name));
  if (content === undefined) return undefined;
  const hash = createHash("sha256");
  let size_bytes = 0;
  for await (const chunk of content) {
    hash.update(chunk as Buffer);
    size_bytes += (chunk as Buffer).length;
  }
  return { size_bytes, sha256: hash.digest("hex") };
}

async function ifThere<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
