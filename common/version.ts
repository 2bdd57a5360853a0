/** The version, here because every role reports it and no role may import another. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Reads package.json, one level up in a checkout and two in a package. */
export function version(): string {
  const file = ["..", "../.."]
    .map((folder) => join(import.meta.dirname, folder, "package.json"))
    .find((path) => existsSync(path));
  if (file === undefined) throw new Error("package.json is missing from this installation");
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
