/** Takes the work directory for this process. */
import { isUnmakeable } from "../common/files.ts";
import { ConfigError } from "../common/settings/config-error.ts";
import { makePassable } from "./machine/files.ts";
import { lockDirectory } from "./machine/lock.ts";

/** Locks the directory and returns what unlocks it. Throws `ConfigError` if it is never usable. */
export async function takeWorkDirectory(path: string): Promise<() => void> {
  try {
    makePassable(path);
    return await lockDirectory(path);
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    if (isUnmakeable(error) || ["EACCES", "EPERM", "EROFS"].includes(code))
      throw new ConfigError(
        `${message}; set WINDLASS_WORK_DIR to a directory that this user may write to`,
      );
    if (code === "ENOSPC" || code === "EDQUOT")
      throw new Error(`${message}; free some space on the disk of WINDLASS_WORK_DIR (${path})`, {
        cause: error,
      });
    throw error;
  }
}
