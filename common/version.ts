/** The version of this Windlass. It stands in common/ because all roles say it and none may import another. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Reads it from package.json, which is one level up in a checkout and two in a package. */
export function version(): string {
  const file = ["..", "../.."]
    .map((folder) => join(import.meta.dirname, folder, "package.json"))
    .find((path) => existsSync(path));
  if (file === undefined) throw new Error("package.json is missing from this installation");
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
