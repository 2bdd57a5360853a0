/** Large content outside the database: plan artifacts, archives, sealed states. */
import type { Readable } from "node:stream";

export interface WrittenBlob {
  /** The name to read it by. */
  readonly blob: string;
  readonly size_bytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

export interface Blobs {
  /**
   * Stores a stream. Resolves once it is durable; when it rejects (a broken-off stream, more than `limit` bytes: RefusalError
   * payload_too_large) nothing is left behind.
   */
  write(content: AsyncIterable<Uint8Array>, limit: number): Promise<WrittenBlob>;
  /** The content, or the bytes from `start` to `end` (inclusive, perhaps beyond its end) of it. Rejects if there is no such blob. */
  read(blob: string, range?: { start: number; end: number }): Promise<Readable>;
  /** All names, in pages. What is written or deleted meanwhile may be among them or not. */
  list(): AsyncIterable<readonly string[]>;
  /** When it was written, in epoch milliseconds; Infinity for one that is not there. */
  writtenAt(blob: string): Promise<number>;
  /** Deletes it; one that is not there is no error. */
  delete(blob: string): Promise<void>;
}
