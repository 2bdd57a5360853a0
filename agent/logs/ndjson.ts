/** An append-only file of JSON lines: after a kill or a full disk, an entry is whole or absent. */
import {
  closeSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { kibibyte } from "../../common/units.ts";

/** A line in the middle is damaged: another program changed it, or the disk lost it. */
export class DamagedFileError extends Error {
  override readonly name = "DamagedFileError";
}

export interface Ndjson<T> {
  /** In bytes. */
  readonly size: number;
  /** Keeps only a few lines in memory; also reads lines that are replaced meanwhile. */
  read(): Generator<T, void>;
  /** Appends. Throws, and leaves the file unchanged, if the disk is full. */
  append(values: readonly T[]): void;
  /** Replaces all lines. Throws, and leaves the file unchanged, if the disk is full. */
  replace(values: Iterable<T>): void;
  close(): void;
}

/**
 * Reads or creates the file, and drops a last line that a crash cut short. Throws DamagedFileError
 * and leaves nothing open.
 */
export function openNdjson<T extends object>(path: string, each: (value: T) => void): Ndjson<T> {
  let file = openSync(path, "a+", 0o600);
  let size: number;
  try {
    const values = valuesOf<T>(path);
    let next = values.next();
    for (; !next.done; next = values.next()) each(next.value);
    size = next.value;
    ftruncateSync(file, size);
  } catch (error) {
    closeSync(file);
    throw error;
  }
  let isClosed = false;
  return {
    get size() {
      return size;
    },
    *read() {
      yield* valuesOf<T>(path);
    },
    append(values) {
      if (isClosed) throw new Error(`${path} was closed`);
      try {
        writeAll(file, values);
      } catch (error) {
        ftruncateSync(file, size);
        throw error;
      }
      size = fstatSync(file).size;
    },
    replace(values) {
      const temporary = `${path}.new`;
      rmSync(temporary, { force: true });
      const next = openSync(temporary, "ax+", 0o600);
      try {
        let batch: T[] = [];
        for (const value of values) {
          batch.push(value);
          if (batch.length < batchLines) continue;
          writeAll(next, batch);
          batch = [];
        }
        writeAll(next, batch);
        // Otherwise a power failure could leave an empty file in place of the lines.
        fsyncSync(next);
        renameSync(temporary, path);
      } catch (error) {
        closeSync(next);
        rmSync(temporary, { force: true });
        throw error;
      }
      closeSync(file);
      file = next;
      size = fstatSync(file).size;
    },
    close() {
      if (!isClosed) closeSync(file);
      isClosed = true;
    },
  };
}

/** Lines that are written at once. */
const batchLines = 1000;
const pieceBytes = 64 * kibibyte;

function writeAll(file: number, values: readonly object[]): void {
  const text = Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(""));
  for (let done = 0; done < text.length; done += writeSync(file, text, done));
}

/** Returns the size of the whole lines. */
function* valuesOf<T extends object>(path: string): Generator<T, number> {
  const file = openSync(path, "r");
  try {
    const piece = Buffer.allocUnsafe(pieceBytes);
    let rest = Buffer.alloc(0);
    let size = 0;
    let number = 0;
    for (;;) {
      const count = readSync(file, piece, 0, piece.length, size + rest.length);
      if (count === 0) return size;
      const bytes = Buffer.concat([rest, piece.subarray(0, count)]);
      const whole = bytes.lastIndexOf("\n") + 1;
      for (const line of bytes.toString("utf8", 0, Math.max(0, whole - 1)).split("\n")) {
        if (whole === 0) break;
        number++;
        if (line === "") continue;
        const value = parseObject(line);
        if (!value)
          throw new DamagedFileError(`${path} is damaged: line ${number} is not an object`);
        yield value as T;
      }
      size += whole;
      rest = bytes.subarray(whole);
    }
  } finally {
    closeSync(file);
  }
}

function parseObject(line: string): object | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the disk is full, which may change, unlike other errors of a file. */
export function isDiskFull(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ENOSPC" || code === "EDQUOT";
}
