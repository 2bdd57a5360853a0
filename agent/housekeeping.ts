/** Keeps the work directory from growing: what dead jobs left, and what is kept for later jobs beyond its limits. */
import type { Logger } from "pino";
import { closeTemporary } from "./job/isolation/temporary.ts";
import { removeTree } from "./job/isolation/wipe.ts";
import { keepWithin, removePartials, type CacheLimits } from "./job/shared-cache.ts";
import { workspaceAt } from "./job/workspace.ts";

export interface Housekeeping {
  /** Before any job runs. */
  begin(): void;
  /** Removes these folders of jobs that are not here any more. */
  sweep(workspaces: readonly string[]): Promise<void>;
  /** Whenever a job has ended: what it used may go now. */
  trim(): void;
}

/** Removes what ended jobs left. What cannot be removed is logged and tried again at the next occasion. */
export function openHousekeeping(
  { workDir, cache }: { readonly workDir: string; readonly cache: CacheLimits },
  log: Logger,
): Housekeeping {
  const trim = (): void => {
    try {
      const removed = keepWithin(workDir, cache);
      if (removed.length > 0) log.info({ removed }, "removed what was kept for later jobs");
    } catch (error) {
      log.error({ error: (error as Error).message }, "what is kept for later jobs was not trimmed");
    }
  };
  return {
    begin() {
      removePartials(workDir);
      trim();
    },
    async sweep(workspaces) {
      for (const path of workspaces) {
        try {
          closeTemporary(workspaceAt(path));
          await removeTree(path);
          log.info({ path }, "removed what a dead job had left");
        } catch (error) {
          const { message } = error as Error;
          log.error({ path, error: message }, "what a dead job left cannot be removed");
        }
      }
    },
    trim,
  };
}
