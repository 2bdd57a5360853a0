/** Removes from the work directory what ended jobs left and what exceeds the cache's limits. */
import type { Logger } from "pino";
import { closeTemporary } from "./job/isolation/temporary.ts";
import { removeTree } from "./job/isolation/wipe.ts";
import { repairStore, storeFolder } from "./job/providers/store.ts";
import { keepWithin, removePartials } from "./job/shared-cache.ts";
import { workspaceAt } from "./job/workspace.ts";

export interface Housekeeping {
  /** Runs before the first job. */
  begin(): Promise<void>;
  /** Removes these directories of jobs that the agent no longer holds. */
  sweep(workspaces: readonly string[]): Promise<void>;
  /** Runs when a job has ended, because what it used may now be removed. */
  trim(): void;
}

/** Removes what ended jobs left. What cannot be removed is logged and tried again next time. */
export function openHousekeeping(
  { workDir, cacheBytes }: { readonly workDir: string; readonly cacheBytes: number },
  log: Logger,
): Housekeeping {
  const trim = (): void => {
    try {
      const removed = keepWithin(workDir, cacheBytes);
      if (removed.length > 0) log.info({ removed }, "removed engines and packages from the cache");
    } catch (error) {
      log.error(
        { error: (error as Error).message },
        "the cache of engines and packages could not be trimmed",
      );
    }
  };
  return {
    async begin() {
      removePartials(workDir);
      trim();
      const changed = await repairStore(storeFolder(workDir));
      if (changed.length > 0)
        log.warn({ changed }, "removed provider packages that a job had changed");
    },
    async sweep(workspaces) {
      for (const path of workspaces) {
        try {
          closeTemporary(workspaceAt(path));
          await removeTree(path);
          log.info({ path }, "removed files of an ended job");
        } catch (error) {
          const { message } = error as Error;
          log.error({ path, error: message }, "files of an ended job cannot be removed");
        }
      }
    },
    trim,
  };
}
