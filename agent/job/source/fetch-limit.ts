/** Bounds what a job fetches from repositories and module sources, none of which say how large they are. */
import { setTimeout as sleep } from "node:timers/promises";
import { runProgram, type ProgramError } from "../../machine/programs.ts";
import { StepFailed } from "../context.ts";
import { kibibyte, mebibyte } from "../../../common/units.ts";

export interface FetchLimit {
  /** Begins the message of the failure. */
  readonly what: "source" | "modules";
  /** Measured with everything below it. */
  readonly folder: string;
  /** On the disk, so a file that git keeps and checks out counts twice. */
  readonly bytes: number;
  readonly path: string;
  /** Milliseconds between two measurements. */
  readonly every?: number;
}

/**
 * Runs `fetch` and measures the folder while it runs and once afterwards. Over the limit, aborts the signal that it gave to `fetch`,
 * waits for its end and throws `StepFailed`.
 */
export async function fetchWithin<T>(
  { what, folder, bytes, path, every = 500 }: FetchLimit,
  fetch: (tooLarge: AbortSignal) => Promise<T>,
): Promise<T> {
  const tooLarge = new AbortController();
  const over = new AbortController();
  const measure = async (): Promise<void> => {
    const size = await sizeOnDisk(folder, path);
    if (size > bytes) tooLarge.abort(new StepFailed(`${what}: ${tooLargeMessage(size, bytes)}`));
  };
  const watch = async (): Promise<void> => {
    while (!over.signal.aborted && !tooLarge.signal.aborted) {
      // A folder of many files takes long to measure: never more than half of the time.
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
    // What the fetch says about its own end is only a consequence.
    tooLarge.signal.throwIfAborted();
  }
}

const tooLargeMessage = (size: number, bytes: number): string =>
  `what was fetched takes ${Math.ceil(size / mebibyte)} MiB on the disk, and ${mibOf(bytes)} are allowed: ` +
  "take large files out of the repository, or raise WINDLASS_SOURCE_MIB on the runner";

/** The limit as it stands in the settings. */
export const mibOf = (bytes: number): string => `${bytes / mebibyte} MiB`;

/** In bytes. Its own process: a walk through a hundred thousand files would stop everything else here. */
async function sizeOnDisk(folder: string, path: string): Promise<number> {
  // The short options are those that coreutils and BusyBox share.
  const measured = await runProgram("du", ["-skx", folder], { env: { PATH: path } }).then(
    (stdout) => ({ stdout, message: "no size" }),
    (error: ProgramError) => error,
  );
  // Files that vanish meanwhile make it fail, and it prints the sum of the others all the same.
  const [, size] = /^(\d+)\s/.exec(measured.stdout) ?? [];
  if (size === undefined)
    throw new StepFailed(`what is fetched cannot be measured: ${measured.message}`);
  return Number(size) * kibibyte;
}
