/** Reads two growing files of a run in safe pieces, in about the order of writing. */
import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  watch,
  type FSWatcher,
} from "node:fs";
import { join } from "node:path";
import { punchHole } from "../machine/files.ts";
import type { Cut, Redactor } from "../../common/redaction/redactor.ts";
import { kibibyte, mebibyte } from "../../common/units.ts";

type OutputStream = "STDOUT" | "STDERR";
const outputStreams = ["STDOUT", "STDERR"] as const;

/** Returns how many of the next bytes of a stream belong to one piece at most. */
type End = (bytes: Buffer, stream: OutputStream) => number;

interface Piece extends Cut {
  readonly stream: OutputStream;
  readonly from: number;
  readonly to: number;
  readonly skip: number;
  /** The bytes before `from` that are searched with it: the earlier piece has released them. */
  readonly context: number;
  readonly text: string;
}

interface Tail {
  readonly stream: OutputStream;
  file: number | undefined;
  /** Up to here it was taken … */
  position: number;
  /** … up to here nothing may be taken until there is more … */
  tried: number;
  /** … this much of it is taken before the other stream's turn … */
  turn: number;
  /** … and this was its size at the last check. */
  size: number;
  /** Up to here the disk space of what can never be shipped was freed. */
  freed: number;
  /** When what is held back is released, by `performance.now`. */
  releaseAt: number;
  carry: number;
  released: number;
}

/**
 * Milliseconds until output with too little of a secret to mask is released. One byte holds output
 * back, and terraform may print the next one ten seconds later.
 */
const releaseAfter = 200;

/** Disk space is freed in steps of this size, because each step starts a process. */
const releaseStep = 16 * mebibyte;

/**
 * Bytes shipped, how many of the next belong to a masked region, and how many of the last may begin
 * a secret.
 */
export type Positions = Record<OutputStream, { position: number; carry: number; released: number }>;

/** More than any redactor looks ahead. */
const readAhead = mebibyte;

/** One buffer for all spools, so memory does not grow with the log. All uses are synchronous. */
let buffer = Buffer.allocUnsafeSlow(64 * kibibyte);

export class Spool {
  readonly #directory: string;
  readonly #tails: readonly Tail[];
  #ended = false;
  #watcher: FSWatcher | undefined;

  constructor(directory: string, positions: Positions) {
    this.#directory = directory;
    this.#tails = outputStreams.map((stream) => {
      const { position, carry, released } = positions[stream];
      const at = { position, tried: position, turn: position, size: position, freed: 0 };
      return { stream, file: undefined, carry, released, releaseAt: Infinity, ...at };
    });
  }

  /** `ended`: the files will not grow any more. Returns the bytes that wait. */
  look(ended: boolean): number {
    for (const tail of this.#tails) {
      tail.file ??= openIfExists(join(this.#directory, tail.stream.toLowerCase()));
      const size = tail.file === undefined ? 0 : fstatSync(tail.file).size;
      if (size > tail.size) {
        tail.size = size;
        tail.releaseAt = Infinity;
      }
      // What was held back is now the end, or was held back for long enough.
      if ((ended && !this.#ended) || tail.releaseAt <= performance.now())
        tail.tried = tail.position;
    }
    this.#ended ||= ended;
    return this.#tails.reduce((sum, tail) => sum + tail.size - tail.tried, 0);
  }

  /**
   * Frees the disk space beyond the `room` more bytes that are shipped, if the file system can: a
   * job may write without end. The files keep their size, so dropped bytes are counted exactly.
   */
  release(room: number): void {
    for (const tail of this.#tails) {
      if (tail.file === undefined) continue;
      const { size } = fstatSync(tail.file);
      const from = Math.max(tail.position + room + readAhead, tail.freed);
      if (size - from < releaseStep) continue;
      tail.freed = size;
      void punchHole(join(this.#directory, tail.stream.toLowerCase()), from, size - from);
    }
  }

  /** Milliseconds until output that is held back is released. */
  get untilRelease(): number {
    return Math.min(...this.#tails.map(({ releaseAt }) => releaseAt)) - performance.now();
  }

  /** The bytes that were seen and not taken. */
  get left(): number {
    return this.#tails.reduce((sum, tail) => sum + tail.size - tail.position, 0);
  }

  /** The run has ended, and `look` has seen everything that it wrote. */
  get ended(): boolean {
    return this.#ended;
  }

  /**
   * At most `limit` bytes of what `look` has seen, stdout first: an error follows what led to it,
   * and neither stream starves. Undefined if nothing can be shipped yet.
   */
  take(redactor: Redactor, limit: number, end: End): Piece | undefined {
    const piece = this.#takeTurn(redactor, limit, end);
    if (piece || this.#tails.every(({ tried, size }) => tried >= size)) return piece;
    for (const tail of this.#tails) tail.turn = tail.size;
    return this.#takeTurn(redactor, limit, end);
  }

  #takeTurn(redactor: Redactor, limit: number, end: End): Piece | undefined {
    for (const tail of this.#tails) {
      if (tail.tried >= tail.turn || tail.file === undefined) continue;
      const { position: from, carry: skip, released: context, size } = tail;
      const most = Math.min(limit, tail.turn - from);
      const start = from - context;
      const length = Math.min(context + most + redactor.lookahead, size - start);
      const ahead = readAt(tail.file, start, length);
      const room = end(ahead.subarray(context, context + most), tail.stream);
      // The redactor looks at no more than this piece needs: a short one is cheap.
      const bytes = ahead.subarray(0, context + room + redactor.lookahead);
      const final = this.#ended && start + bytes.length >= size;
      const now = performance.now();
      const release = tail.releaseAt <= now;
      const cut = redactor.cut(bytes, room, { final, release, skip, context });
      tail.releaseAt = Infinity;
      if (cut.length === 0) {
        if (!release) tail.releaseAt = now + releaseAfter;
        tail.tried = tail.turn;
        continue;
      }
      const to = from + cut.length;
      tail.position = tail.tried = to;
      tail.carry = cut.carry;
      tail.released = cut.released;
      return { ...cut, stream: tail.stream, from, to, skip, context };
    }
    return undefined;
  }

  /**
   * Calls once for many changes in the directory of the run. True if the watch is new: check for
   * changes just before it.
   */
  watch(onChange: () => void): boolean {
    if (this.#watcher) return false;
    try {
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
      const watcher = watch(this.#directory, () => {
        this.unwatch();
        onChange();
      });
      // No inotify watches are left, or the file system has none: then slow polling finds what is
      // new.
      watcher.on("error", () => this.unwatch());
      this.#watcher = watcher;
      return true;
    } catch {
      return false;
    }
  }

  unwatch(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  close(): void {
    this.unwatch();
    for (const tail of this.#tails) {
      if (tail.file !== undefined) closeSync(tail.file);
      tail.file = undefined;
    }
  }
}

/** Returns the text of a range that was cut before. */
export function readPiece(
  directory: string,
  redactor: Redactor,
  piece: Pick<Piece, "stream" | "from" | "to" | "skip" | "tail" | "context">,
): string {
  const file = openIfExists(join(directory, piece.stream.toLowerCase()));
  if (file === undefined) return "";
  try {
    const start = piece.from - piece.context;
    return redactor.redact(readAt(file, start, piece.to - start), piece);
  } finally {
    closeSync(file);
  }
}

function readAt(file: number, position: number, length: number): Buffer {
  if (buffer.length < length) buffer = Buffer.allocUnsafeSlow(length);
  let done = 0;
  while (done < length) {
    const count = readSync(file, buffer, done, length - done, position + done);
    if (count === 0) break;
    done += count;
  }
  return buffer.subarray(0, done);
}

function openIfExists(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
