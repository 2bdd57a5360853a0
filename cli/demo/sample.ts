/** Reads a sample of the repository as the files of an inline source. */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";

const samples = join(import.meta.dirname, "../../samples");

/** Returns the files of `samples/<name>` by relative path. */
export function sampleFiles(name: string): Record<string, string> {
  const folder = join(samples, name);
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(
    files.map((file) => [relative(folder, file).split(sep).join("/"), readFileSync(file, "utf8")]),
  );
}
