/**
 * An append-only file of JSON lines that survives a kill and a full disk: an entry is either
 * complete or absent.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  writeSync,
} from "node:fs";

/**
 * A line in the middle of the file is not what the agent wrote: another program changed it, or the
 * disk lost it.
 */
export class DamagedFileError extends Error {
  override readonly name = "DamagedFileError";
}

export interface Ndjson<T> {
  /** All lines that are in the file. Throws DamagedFileError. */
  read(): T[];
  /** Appends. Throws, and leaves the file unchanged, if the disk is full. */
  append(values: readonly T[]): void;
  close(): void;
}

/**
 * Opens the file, and creates it if there is none; a last line that a crash cut short is dropped.
 * Throws DamagedFileError, and then leaves nothing open.
 */
export function openNdjson<T extends object>(path: string): Ndjson<T> {
  const bytes = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  let size = bytes.lastIndexOf("\n") + 1;
  parse(path, bytes.subarray(0, size));
  const file = openSync(path, "a+", 0o600);
  if (size < bytes.length) ftruncateSync(file, size);
  let isClosed = false;
  return {
    read: () => parse<T>(path, readFileSync(path)),
    append(values) {
      if (isClosed) throw new Error(`${path} was closed`);
      const text = Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(""));
      try {
        for (let done = 0; done < text.length; done += writeSync(file, text, done));
      } catch (error) {
        ftruncateSync(file, size);
        throw error;
      }
      size = fstatSync(file).size;
    },
    close() {
      if (!isClosed) closeSync(file);
      isClosed = true;
    },
  };
}

function parse<T extends object>(path: string, bytes: Buffer): T[] {
  return bytes
    .toString("utf8")
    .split("\n")
    .filter(Boolean)
    .map((line, index) => {
      const value = parseObject(line);
      if (!value)
        throw new DamagedFileError(`${path} is damaged: line ${index + 1} is not an object`);
      return value as T;
    });
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
