/** Streams of bytes: measuring them, and cutting them into pieces of one size. */
import type { Hash } from "node:crypto";
import { RefusalError } from "../domain/refusal.ts";

/** Yields the same bytes; counts and hashes them. Throws when there are more than `limit`. */
export async function* measured(
  content: AsyncIterable<Uint8Array>,
  limit: number,
  seen: { readonly hash: Hash; size: number },
): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    seen.size += chunk.byteLength;
    if (seen.size > limit)
      throw new RefusalError("payload_too_large", `the body may have at most ${limit} bytes`);
    seen.hash.update(chunk);
    yield chunk;
  }
}

/** Yields the same bytes in pieces of `size`, the last one shorter. */
export async function* inPieces(
  content: AsyncIterable<Uint8Array>,
  size: number,
): AsyncGenerator<Buffer> {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of content) {
    waiting.push(chunk);
    bytes += chunk.byteLength;
    if (bytes < size) continue;
    const joined = Buffer.concat(waiting);
    let at = 0;
    for (; at + size <= joined.length; at += size) yield joined.subarray(at, at + size);
    waiting = [joined.subarray(at)];
    bytes = joined.length - at;
  }
  if (bytes > 0) yield Buffer.concat(waiting);
}
