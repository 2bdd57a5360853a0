/**
 * Reads the output of one run: two files that grow, in safe pieces, in about the order in which
 * they were written.
 */
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
  released: number;
  carry: number;
}

/** Disk space is freed in steps of this size, because each step starts a process. */
const releaseStep = 16 * mebibyte;

/**
 * Where reading continues: the bytes shipped, and how many of the next belong to a masked region
 * that was shipped.
 */
export type Positions = Record<OutputStream, { position: number; carry: number }>;

/** More than any redactor looks ahead. */
const readAhead = mebibyte;

/**
 * All reads of all spools use one buffer, so memory does not grow with the log. Reads and their use
 * are synchronous.
 */
let buffer = Buffer.allocUnsafeSlow(64 * kibibyte);

export class Spool {
  readonly #directory: string;
  readonly #tails: readonly Tail[];
  #ended = false;
  #watcher: FSWatcher | undefined;

  constructor(directory: string, positions: Positions) {
    this.#directory = directory;
    this.#tails = outputStreams.map((stream) => {
      const { position, carry } = positions[stream];
      const at = { position, tried: position, turn: position, size: position, released: 0 };
      return { stream, file: undefined, carry, ...at };
    });
  }

  /**
   * Checks how far the files have grown. `ended`: they will not grow any more. Returns the bytes
   * that wait.
   */
  look(ended: boolean): number {
    for (const tail of this.#tails) {
      tail.file ??= openIfExists(join(this.#directory, tail.stream.toLowerCase()));
      if (tail.file !== undefined) tail.size = Math.max(tail.size, fstatSync(tail.file).size);
      // What was held back is now the end.
      if (ended && !this.#ended) tail.tried = tail.position;
    }
    this.#ended ||= ended;
    return this.#tails.reduce((sum, tail) => sum + tail.size - tail.tried, 0);
  }

  /**
   * Frees the disk space of output that can never be shipped, because at most `room` more bytes
   * are: a job may write without end. The files keep their size, so that the dropped bytes are
   * counted exactly. If the file system does not support it, the space stays in use.
   */
  release(room: number): void {
    for (const tail of this.#tails) {
      if (tail.file === undefined) continue;
      const { size } = fstatSync(tail.file);
      const from = Math.max(tail.position + room + readAhead, tail.released);
      if (size - from < releaseStep) continue;
      tail.released = size;
      void punchHole(join(this.#directory, tail.stream.toLowerCase()), from, size - from);
    }
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
   * Returns the next piece, at most `limit` bytes, of what `look` has seen: first of stdout, then
   * of stderr, so that an error comes after what led to it and neither stream starves the other.
   * Returns undefined if nothing may be shipped before there is more.
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
      const { position: from, carry: skip, size } = tail;
      const most = Math.min(limit, tail.turn - from);
      const ahead = readAt(tail.file, from, Math.min(most + redactor.lookahead, size - from));
      const room = end(ahead.subarray(0, most), tail.stream);
      // The redactor looks at no more than this piece needs: a short one is cheap.
      const bytes = ahead.subarray(0, room + redactor.lookahead);
      const cut = redactor.cut(bytes, room, this.#ended && from + bytes.length >= size, skip);
      if (cut.length === 0) {
        tail.tried = tail.turn;
        continue;
      }
      const to = from + cut.length;
      tail.position = tail.tried = to;
      tail.carry = cut.carry;
      return { ...cut, stream: tail.stream, from, to, skip };
    }
    return undefined;
  }

  /**
   * Calls once when something in the run's directory changes, so that a run that writes line by
   * line does not cost one event a line. Returns true if the watch is new: the caller must check
   * for changes just before it.
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
  piece: Pick<Piece, "stream" | "from" | "to" | "skip" | "tail">,
): string {
  const file = openIfExists(join(directory, piece.stream.toLowerCase()));
  if (file === undefined) return "";
  try {
    const bytes = readAt(file, piece.from, piece.to - piece.from);
    return redactor.redact(bytes, piece.skip, piece.tail);
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
