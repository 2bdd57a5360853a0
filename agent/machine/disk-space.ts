/** Measures the free disk space for jobs, and waits until it is enough. */
import { statfsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";

/** Returns the bytes that this user may still write to the disk of this path. */
export function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}

export interface DiskFloorOptions {
  readonly workDir: string;
  /** With less free space, the agent takes no job. */
  readonly bytes: number;
  /** Milliseconds between two checks while there is too little. */
  readonly every: number;
  readonly log: Logger;
}

/** Keeps an agent with too little disk space from taking jobs. Running jobs continue. */
export class DiskFloor {
  readonly #options: DiskFloorOptions;
  #isLow = false;

  constructor(options: DiskFloorOptions) {
    this.#options = options;
  }

  /** Whether the agent takes no jobs for now because of too little space. */
  get isLow(): boolean {
    return this.#isLow;
  }

  /** Resolves as soon as there is enough space; rejects when the signal ends the wait. */
  async wait(signal: AbortSignal): Promise<void> {
    const { workDir, bytes, every, log } = this.#options;
    for (;;) {
      const free = freeBytes(workDir);
      const isLow = free < bytes;
      if (isLow && !this.#isLow) {
        log.warn(
          { free, floor: bytes, path: workDir },
          "too little disk space is free: taking no jobs until there is more than WINDLASS_FREE_DISK_MIB",
        );
      }
      if (!isLow && this.#isLow) log.info({ free }, "enough disk space is free again: taking jobs");
      this.#isLow = isLow;
      if (!isLow) return;
      await sleep(every, undefined, { signal });
    }
  }
}
