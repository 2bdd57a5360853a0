/** The blob is written first, the row makes it valid; a blob without a row is deleted. */
import type { Readable } from "node:stream";
import type { WrittenBlob } from "../../blobs/blobs.ts";
import { second } from "../../../common/units.ts";
import { storageUnavailable } from "../../domain/refusal.ts";
import { UnreadableError } from "../../domain/secret-box.ts";
import { isUncertain } from "../../domain/storage-troubles.ts";
import type { Context } from "../context.ts";
import { forget } from "./orphaned-blobs.ts";

export interface Stored<T> {
  readonly answer: T;
  readonly stored: boolean;
  /** The blob that no row names any longer. */
  readonly replaced?: string | undefined;
}

/**
 * Writes `content` to a blob, then calls `record` to write the row in a transaction. After the
 * commit, deletes the blob that the row does not name. If it is uncertain whether the row was
 * written, the blob stays: it is the row's, or an orphaned one.
 */
export async function storeContent<T>(
  context: Pick<Context, "store" | "blobs" | "now">,
  content: AsyncIterable<Uint8Array>,
  limit: number,
  record: (written: WrittenBlob) => Promise<Stored<T>>,
): Promise<Stored<T>> {
  const { blobs } = context;
  const written = await blobs.write(content, limit);
  // Retention deletes what stays here.
  const deleteOrphaned = () => blobs.delete(written.blob).catch(() => undefined);
  let recorded: Stored<T>;
  try {
    recorded = await record(written);
  } catch (error) {
    if (!isUncertain(error)) await deleteOrphaned();
    throw error;
  }
  if (!recorded.stored) await deleteOrphaned();
  else if (recorded.replaced !== undefined) await forget(context, [recorded.replaced]);
  return recorded;
}

/** Whether a blob is whole. Throws if it cannot be read now, which says nothing about it. */
export async function isReadable(
  { blobs }: Pick<Context, "blobs">,
  blob: string,
): Promise<boolean> {
  try {
    for await (const _ of await blobs.read(blob));
    return true;
  } catch (error) {
    if (error instanceof UnreadableError) return false;
    throw error;
  }
}

/**
 * Yields the content of a blob for work that others wait for. Throws at the first bytes that arrive
 * after this time; each read of the storage has a time limit of its own.
 */
export async function* readWithin(
  { blobs }: Pick<Context, "blobs">,
  blob: string,
  milliseconds: number,
): AsyncGenerator<Uint8Array> {
  const end = performance.now() + milliseconds;
  for await (const chunk of await blobs.read(blob)) {
    if (performance.now() > end)
      throw storageUnavailable(
        `the server's storage has not sent the content within ${milliseconds / second} seconds`,
      );
    yield chunk as Uint8Array;
  }
}

/** Content to be sent: what it is, and how to read it or a part of it. */
export interface Content {
  readonly sha256: string;
  readonly size_bytes: number;
  read(range?: { start: number; end: number }): Promise<Readable>;
}

export const contentOf = (
  { blobs }: Pick<Context, "blobs">,
  { blob, sha256, size_bytes }: { blob: string; sha256: string; size_bytes: number },
): Content => ({ sha256, size_bytes, read: (range) => blobs.read(blob, range) });
