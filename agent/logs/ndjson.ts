/** An append-only file of JSON lines that survives a kill and a full disk: what was written is whole, or is not there. */
import { closeSync, fstatSync, ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";

export interface Ndjson<T> {
  /** All lines that are in the file. */
  read(): T[];
  /** Throws, and leaves the file as it was, when the disk takes no more. */
  append(values: readonly T[]): void;
  close(): void;
}

/** Opens the file, making it if it is not there; a last line that a crash cut short is dropped. */
export function openNdjson<T>(path: string): Ndjson<T> {
  const file = openSync(path, "a+", 0o600);
  let isClosed = false;
  const read = (): Buffer => readFileSync(path);
  const bytes = read();
  let size = bytes.lastIndexOf("\n") + 1;
  if (size < bytes.length) ftruncateSync(file, size);
  return {
    read: () =>
      read()
        .toString("utf8")
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as T),
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

/** The disk takes no more: a state that passes, unlike other errors of a file. */
export function isDiskFull(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ENOSPC" || code === "EDQUOT";
}
