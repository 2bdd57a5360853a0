/** How much room there is where jobs run, and waiting until it is enough. */
import { statfsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";

/** Bytes that this user may still write to the disk of this path. */
export function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}

export interface DiskFloorOptions {
  readonly workDir: string;
  /** With less than this no job is taken. */
  readonly bytes: number;
  /** Milliseconds from one look to the next while there is too little. */
  readonly every: number;
  readonly log: Logger;
}

/** Keeps an agent without room from taking jobs that it could not end well. Those that run go on. */
export class DiskFloor {
  readonly #options: DiskFloorOptions;
  #isLow = false;

  constructor(options: DiskFloorOptions) {
    this.#options = options;
  }

  /** Whether jobs are not taken for now, for want of room. */
  get isLow(): boolean {
    return this.#isLow;
  }

  /** Resolves as soon as there is room; rejects when the signal ends the waiting. */
  async wait(signal: AbortSignal): Promise<void> {
    const { workDir, bytes, every, log } = this.#options;
    for (;;) {
      const free = freeBytes(workDir);
      const isLow = free < bytes;
      if (isLow && !this.#isLow) {
        log.warn(
          { free, floor: bytes, path: workDir },
          "too little disk is free: no jobs are taken until there is more (WINDLASS_FREE_DISK_MIB)",
        );
      }
      if (!isLow && this.#isLow) log.info({ free }, "enough disk is free again: taking jobs");
      this.#isLow = isLow;
      if (!isLow) return;
      await sleep(every, undefined, { signal });
    }
  }
}
