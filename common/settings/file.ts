/** Reads the files that settings name. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { kibibyte, mebibyte, second } from "../units.ts";
import { ConfigError } from "./config-error.ts";

/** Keys, certificates and lists of tokens are far smaller; a device has no end. */
const limit = mebibyte;
const pauseMilliseconds = 20;

/**
 * From a file or a pipe, such as `<(command)`. Throws ConfigError, also if a pipe has nothing for
 * `patience` milliseconds: a start that hangs gives no reason.
 */
export function readSettingFile(name: string, path: string, patience = 30 * second): string {
  try {
    // Opening a pipe would otherwise wait for a writer.
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return readAll(file, patience);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw new ConfigError(`${name} cannot be read: ${(error as Error).message}`);
  }
}

function readAll(file: number, patience: number): string {
  const isPipe = fstatSync(file).isFIFO();
  const parts: Buffer[] = [];
  let length = 0;
  let deadline = performance.now() + patience;
  for (;;) {
    const part = readPart(file);
    // A pipe is at its end too before a writer has come.
    if (part?.length === 0 && (length > 0 || !isPipe)) return Buffer.concat(parts).toString();
    if (part && part.length > 0) {
      parts.push(part);
      length += part.length;
      if (length > limit) throw new Error(`it has more than ${limit} bytes`);
      deadline = performance.now() + patience;
    } else if (performance.now() > deadline) throw new Error("nothing is written to this pipe");
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMilliseconds);
  }
}

/** Returns undefined if the writer of a pipe has written nothing more yet. */
function readPart(file: number): Buffer | undefined {
  const part = Buffer.allocUnsafe(64 * kibibyte);
  try {
    return part.subarray(0, readSync(file, part));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EAGAIN") return undefined;
    throw error;
  }
}
