/** Terraform configurations for tests, as the sources of snapshots. */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "../project/source-files.ts";

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

/** Returns the fixture as an inline source. */
export const inlineFixture = (name: string) => ({
  type: "inline" as const,
  files: fixtureFiles(name),
});

/** Returns a snapshot with the fixture as its inline source. */
export const inlineSnapshot = (name: string, more: object = {}) => ({
  source: inlineFixture(name),
  ...more,
});

/** Returns a snapshot whose apply lasts this long. */
export const longRunning = (seconds: number) =>
  inlineSnapshot("long-running", { variables: { seconds: { value: seconds } } });

/** Copies `test/fixtures/<name>` to a directory and returns the directory. */
export function copyFixture(name: string, directory: string): string {
  cpSync(join(root, "test/fixtures", name), directory, { recursive: true });
  return directory;
}

/** Writes files below a directory, and returns that. */
export function writeFiles(
  directory: string,
  files: Readonly<Record<string, string | Buffer>>,
): string {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), content);
  }
  return directory;
}
