/** Small file operations of the agent: atomic, private, and durable where it matters. */
import { chmodSync, closeSync, fsyncSync, openSync, renameSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { makeDirectory } from "../../common/files.ts";
import { runProgram } from "./programs.ts";

/** Mode 0600; readers see all of it or none; `durable`: also after a power failure. */
export function writeWhole(path: string, content: string, durable?: "durable"): void {
  const temporary = `${path}.${process.pid}.tmp`;
  const file = openSync(temporary, "w", 0o600);
  try {
    writeSync(file, content);
    if (durable) fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
  if (durable) syncDirectory(dirname(path));
}

/** A private directory below ones that other users may pass: jobs run as other users. */
export function makePassable(path: string): void {
  const first = makeDirectory(path, 0o700);
  if (first === undefined) return;
  // The process's umask would remove this from the mode of mkdir.
  for (let above = dirname(path); above.length >= first.length; above = dirname(above))
    chmodSync(above, 0o711);
}

/** Makes the names in a directory durable. */
export function syncDirectory(path: string): void {
  const directory = openSync(path, "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/** Frees the space and keeps the size. Returns false if the file system cannot. */
export function punchHole(path: string, offset: number, length: number): Promise<boolean> {
  const range = ["--punch-hole", "--offset", String(offset), "--length", String(length)];
  return runProgram("fallocate", [...range, "--", path]).then(
    () => true,
    () => false,
  );
}
