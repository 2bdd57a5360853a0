/** The version, here because every role reports it and no role may import another. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

let known: string | undefined;

/** Read once, because each heartbeat and each page needs it. */
export const version = (): string => (known ??= read());

/** Reads package.json, one level up in a checkout and two in a package. */
function read(): string {
  const file = ["..", "../.."]
    .map((folder) => join(import.meta.dirname, folder, "package.json"))
    .find((path) => existsSync(path));
  if (file === undefined) throw new Error("package.json is missing from this installation");
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
