/** `windlass jobs debug-log`. */
import { createWriteStream, renameSync, rmSync } from "node:fs";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { CliError } from "../terminal/output.ts";
import type { Run } from "../run.ts";

export interface DebugLogOptions {
  readonly output?: string | undefined;
}

/** Writes it unpacked: to stdout, or whole into a file. */
export async function debugLog(run: Run, id: string, { output }: DebugLogOptions): Promise<void> {
  if (output === undefined && process.stdout.isTTY)
    throw new CliError("it may hold secrets: send it to a file, as in --output debug.log", 2);
  const { body } = await run.api.send("downloadDebugLog", { params: { id } });
  if (output === undefined) return pipeline(body, createGunzip(), process.stdout, { end: false });
  const unfinished = `${output}.${process.pid}.tmp`;
  try {
    await pipeline(body, createGunzip(), createWriteStream(unfinished, { mode: 0o600 }));
    renameSync(unfinished, output);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw new CliError(`${output} cannot be written: ${(error as Error).message}`, 1, error);
  }
  run.done(`The debug log is in ${output}. It may hold secrets: look before you pass it on.`);
}
