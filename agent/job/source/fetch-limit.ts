/** Limits the disk space of repositories and module sources, which do not announce their size. */
import { setTimeout as sleep } from "node:timers/promises";
import { runProgram, type ProgramError } from "../../machine/programs.ts";
import { StepFailedError } from "../context.ts";
import { kibibyte, mebibyte } from "../../../common/units.ts";

export interface FetchLimit {
  /** Begins the message of the failure. */
  readonly what: "source" | "modules";
  /** The directory that is measured, with everything below it. */
  readonly folder: string;
  /** Counts disk space, so a file that git keeps and checks out counts twice. */
  readonly bytes: number;
  readonly path: string;
  /** Milliseconds between two measurements. */
  readonly every?: number;
}

export class FetchTooLargeError extends StepFailedError {
  override readonly name = "FetchTooLargeError";
}

/**
 * Measures the directory meanwhile and afterwards. Over the limit, aborts `fetch`, waits for its
 * end and throws `FetchTooLargeError`.
 */
export async function fetchWithin<T>(
  { what, folder, bytes, path, every = 500 }: FetchLimit,
  fetch: (tooLarge: AbortSignal) => Promise<T>,
): Promise<T> {
  const tooLarge = new AbortController();
  const over = new AbortController();
  const measure = async (): Promise<void> => {
    const size = await sizeOnDisk(folder, path);
    if (size > bytes)
      tooLarge.abort(new FetchTooLargeError(`${what}: ${tooLargeMessage(size, bytes)}`));
  };
  const watch = async (): Promise<void> => {
    while (!over.signal.aborted && !tooLarge.signal.aborted) {
      // Measuring a directory of many files takes long, so at most half of the time is spent on it.
      const began = performance.now();
      await measure();
      const pause = Math.max(every, performance.now() - began);
      await sleep(pause, undefined, { signal: over.signal }).catch(() => undefined);
    }
  };
  const watching = watch().catch((error: unknown) => tooLarge.abort(error));
  try {
    return await fetch(tooLarge.signal);
  } finally {
    over.abort();
    await watching;
    if (!tooLarge.signal.aborted) await measure();
    // The error of the fetch itself is only a consequence.
    tooLarge.signal.throwIfAborted();
  }
}

const tooLargeMessage = (size: number, bytes: number): string =>
  `the fetched files take ${Math.ceil(size / mebibyte)} MiB on the disk, more than the limit of ${mibOf(bytes)}: ` +
  "remove large files from the repository, or raise WINDLASS_SOURCE_MIB on the runner";

/** The limit as written in the settings. */
export const mibOf = (bytes: number): string => `${bytes / mebibyte} MiB`;

/** A process of its own, because visiting a hundred thousand files would block the agent. */
async function sizeOnDisk(folder: string, path: string): Promise<number> {
  // The short options are those that coreutils and BusyBox share.
  const measured = await runProgram("du", ["-skx", folder], { env: { PATH: path } }).then(
    (stdout) => ({ stdout, message: "no size" }),
    (error: ProgramError) => error,
  );
  // If files disappear while `du` runs, it fails but prints the sum of the others.
  const [, size] = /^(\d+)\s/.exec(measured.stdout) ?? [];
  if (size === undefined)
    throw new StepFailedError(
      `the size of the fetched files cannot be measured: ${measured.message}`,
    );
  return Number(size) * kibibyte;
}
