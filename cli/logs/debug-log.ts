/** `windlass jobs debug-log`. */
import { createWriteStream, renameSync, rmSync } from "node:fs";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { mebibyte } from "../../common/units.ts";
import { debugLogTextLimit } from "../../protocol/limits.ts";
import { fileErrorText } from "../../common/file-errors.ts";
import { CliError } from "../terminal/output.ts";
import { findJob } from "../jobs/find.ts";
import type { Run } from "../run.ts";

export interface DebugLogOptions {
  readonly output?: string | undefined;
}

/** Writes it uncompressed: to stdout, or whole into a file. */
export async function debugLog(
  current: Run,
  named: string,
  { output }: DebugLogOptions,
): Promise<void> {
  if (output === undefined && process.stdout.isTTY)
    throw new CliError("it may hold secrets: send it to a file, as in --output debug.log", 2);
  const { run, id } = await findJob(current, named);
  const { body } = await run.api.send("downloadDebugLog", { params: { id } });
  if (output === undefined) return pipeline(unpack(body), process.stdout, { end: false });
  const unfinished = `${output}.${process.pid}.tmp`;
  try {
    await pipeline(unpack(body), createWriteStream(unfinished, { mode: 0o600 }));
    renameSync(unfinished, output);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw new CliError(`"${output}" cannot be written: ${fileErrorText(error)}`, 1, error);
  }
  run.done(`The debug log is in ${output}. It may hold secrets: look before you pass it on.`);
}

/** A hostile runner can have compressed a thousand times its size. */
export async function* unpack(body: Readable, limit = debugLogTextLimit): AsyncGenerator<Buffer> {
  const unpacked = createGunzip();
  const done = pipeline(body, unpacked);
  // Its failure also ends the loop below.
  done.catch(() => undefined);
  let bytes = 0;
  for await (const part of unpacked as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > limit)
      throw new CliError(
        `uncompressed, it has more than ${limit / mebibyte} MiB, which no runner of this product sends`,
      );
    yield part;
  }
  await done;
}
