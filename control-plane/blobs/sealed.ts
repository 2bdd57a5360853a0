/**
 * Blobs encrypted at rest, in any other store of blobs: plans and states contain secrets in clear
 * text, and archives may.
 *
 * Format: 16 random bytes that name the blob inside, then pieces of 64 KiB, each sealed separately,
 * so that reading a range opens only its pieces and nothing is ever in memory as a whole. A piece
 * is bound to its blob and its place. Only the last one is shorter than 64 KiB (and may be empty),
 * so a blob that was cut off is noticed.
 */
import { createHash, randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { UnreadableError, type SecretBox } from "../domain/secret-box.ts";
import type { Blobs } from "./blobs.ts";
import { inPieces, measured } from "./pieces.ts";

const nameBytes = 16;
const pieceBytes = 65_536;

/** Sizes, digests and ranges are those of the content itself, not of the sealed blob. */
export function sealedBlobs(inner: Blobs, box: SecretBox): Blobs {
  const sealedBytes = pieceBytes + box.seal(Buffer.alloc(0), "").length;
  const pieceStart = (index: number) => nameBytes + index * sealedBytes;

  return {
    write: async (content, limit, name) => {
      const seen = { hash: createHash("sha256"), size: 0 };
      const { blob } = await inner.write(seal(box, measured(content, limit, seen)), Infinity, name);
      return { blob, size_bytes: seen.size, sha256: seen.hash.digest("hex") };
    },
    read: async (blob, range) => {
      const first = range ? Math.floor(range.start / pieceBytes) : 0;
      const name = await readName(inner, blob);
      // Opened at the first read, so that a stream that is dropped before that leaves nothing open.
      const sealed = async function* () {
        yield* await inner.read(blob, {
          start: pieceStart(first),
          end: range ? pieceStart(Math.floor(range.end / pieceBytes) + 1) - 1 : Infinity,
        });
      };
      const again = async (index: number): Promise<Sealed> => ({
        name: await readName(inner, blob),
        piece: await buffer(
          await inner.read(blob, { start: pieceStart(index), end: pieceStart(index + 1) - 1 }),
        ),
      });
      const pieces = open(box, name, inPieces(sealed(), sealedBytes), first, again);
      return Readable.from(range ? cut(pieces, first * pieceBytes, range) : whole(pieces), {
        objectMode: false,
      });
    },
    list: () => inner.list(),
    writtenAt: (blob) => inner.writtenAt(blob),
    delete: (blob) => inner.delete(blob),
    sweep: (before) => inner.sweep(before),
  };
}

async function* seal(box: SecretBox, content: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const name = randomBytes(nameBytes);
  yield name;
  let index = 0;
  let lastBytes = pieceBytes;
  for await (const piece of inPieces(content, pieceBytes)) {
    yield box.seal(piece, placeOf(name, index++));
    lastBytes = piece.length;
  }
  if (lastBytes === pieceBytes) yield box.seal(Buffer.alloc(0), placeOf(name, index));
}

interface Sealed {
  readonly name: Buffer;
  readonly piece: Buffer;
}

/** Reads a piece `again` that does not open: the disk or the object store may have erred once. */
async function* open(
  box: SecretBox,
  name: Buffer,
  sealed: AsyncIterable<Buffer>,
  first: number,
  again: (index: number) => Promise<Sealed>,
): AsyncGenerator<Buffer> {
  let index = first;
  for await (const piece of sealed) {
    let content = opened(box, { name, piece }, index);
    if (content === undefined) {
      const second = await again(index);
      content = opened(box, second, index);
      ({ name } = second);
    }
    if (content === undefined)
      throw unreadable("it is damaged or was sealed with another WINDLASS_SECRET_KEY");
    yield content;
    index += 1;
  }
}

/** Returns the content of a piece; undefined if it cannot be opened. */
function opened(box: SecretBox, { name, piece }: Sealed, index: number): Buffer | undefined {
  try {
    return box.open(piece, placeOf(name, index));
  } catch (error) {
    if (error instanceof UnreadableError) return undefined;
    throw error;
  }
}

const unreadable = (why: string, cause?: unknown): UnreadableError =>
  new UnreadableError(
    `the stored content cannot be read: ${why}. Restore it from a backup, or create it again`,
    { cause },
  );
const cutOff = () => unreadable("it is incomplete");

const placeOf = (name: Buffer, index: number): string => `${name.toString("hex")}:${index}`;

async function* whole(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let lastBytes = pieceBytes;
  for await (const piece of pieces) {
    lastBytes = piece.length;
    if (piece.length > 0) yield piece;
  }
  if (lastBytes === pieceBytes) throw cutOff();
}

/** Returns the bytes from `start` to `end` of pieces of which the first begins at `at`. */
async function* cut(
  pieces: AsyncIterable<Buffer>,
  at: number,
  { start, end }: { start: number; end: number },
): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    const part = piece.subarray(Math.max(0, start - at), Math.max(0, end + 1 - at));
    if (part.length > 0) yield part;
    at += piece.length;
  }
  if (at <= end) throw cutOff();
}

async function readName(inner: Blobs, blob: string): Promise<Buffer> {
  const parts: Buffer[] = [];
  try {
    for await (const part of await inner.read(blob, { start: 0, end: nameBytes - 1 }))
      parts.push(part as Buffer);
  } catch (cause) {
    if ((cause as { code?: string }).code !== "ENOENT") throw cause;
    throw unreadable("its file is missing (ENOENT)", cause);
  }
  return Buffer.concat(parts);
}
