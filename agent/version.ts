/** The agent's version, from package.json, which stands beside the code in a checkout and one level up in a package. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

export function version(): string {
  const file = ["..", "../.."]
    .map((up) => join(import.meta.dirname, up, "package.json"))
    .find((path) => existsSync(path));
  if (file === undefined) throw new Error("package.json is missing from this installation");
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
