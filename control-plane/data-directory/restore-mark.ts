/** While the mark is there, the data directory is neither the old one nor the new one. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "../../common/settings/config-error.ts";

/** The file's name in the data directory. */
export const restoreMark = "RESTORE-UNDER-WAY";

export function refuseHalfRestored(directory: string): void {
  if (existsSync(join(directory, restoreMark)))
    throw new ConfigError(
      `a restore of ${directory} was interrupted; run "windlass server restore --force FILE" again`,
    );
}
