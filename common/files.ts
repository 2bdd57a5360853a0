/** Files that need not be there. */
import { readFileSync } from "node:fs";

/** Returns the text of a file; undefined if there is none. */
export function readIfExists(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
