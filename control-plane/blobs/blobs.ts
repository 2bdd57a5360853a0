/** Large content outside the database: plan artifacts, archives, states, archived logs. */
import type { Readable } from "node:stream";

export interface WrittenBlob {
  readonly blob: string;
  readonly size_bytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

export interface Blobs {
  /**
   * Stores a stream. Resolves once it is durable. If it rejects (an interrupted stream, or more
   * than `limit` bytes: RefusalError payload_too_large), nothing is left behind.
   * Its name is new, or one that no blob here has.
   */
  write(content: AsyncIterable<Uint8Array>, limit: number, blob?: string): Promise<WrittenBlob>;
  /** Returns the content, or the bytes from `start` to `end` (inclusive). Rejects without one. */
  read(blob: string, range?: { start: number; end: number }): Promise<Readable>;
  /** Blobs that are written or deleted meanwhile may or may not be among the names. */
  list(): AsyncIterable<readonly string[]>;
  /** Returns when it was written, in epoch milliseconds; Infinity if there is no such blob. */
  writtenAt(blob: string): Promise<number>;
  /** Deletes it. A missing blob is no error. */
  delete(blob: string): Promise<void>;
  /** Removes what writes have left that a crash interrupted and that began before this moment. */
  sweep(before: number): Promise<void>;
}
