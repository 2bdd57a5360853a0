/** Terraform configurations for tests, as the sources of snapshots. */
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./source-files.ts";

/** Returns all files of `test/fixtures/<name>` by their path in it. */
export function fixtureFiles(name: string): Record<string, string> {
  const folder = join(root, "test/fixtures", name);
  const files: Record<string, string> = {};
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    files[path.slice(folder.length + 1)] = readFileSync(path, "utf8");
  }
  return files;
}

/** Returns a snapshot with the fixture as its inline source. */
export const inlineSnapshot = (name: string, more: object = {}): object => ({
  source: { type: "inline", files: fixtureFiles(name) },
  ...more,
});

/** Copies `test/fixtures/<name>` to a directory and returns the directory. */
export function copyFixture(name: string, directory: string): string {
  cpSync(join(root, "test/fixtures", name), directory, { recursive: true });
  return directory;
}
