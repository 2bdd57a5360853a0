/** The version of this Windlass, from package.json, which stands beside the code in a checkout and one level up in a package. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Reads the version. Only `--version` and the help need it, so it is not read at start. */
export function version(): string {
  const file = ["..", "../.."]
    .map((up) => join(import.meta.dirname, up, "package.json"))
    .find(existsSync);
  if (file === undefined) throw new Error("package.json is missing from this installation");
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
