/** The terraform on the PATH, and scripts in its place. */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The path of the real terraform. */
export const realTerraform = (): string =>
  execFileSync("sh", ["-c", "command -v terraform"], { encoding: "utf8" }).trim();

/**
 * Writes a script to a new directory that jobs can read. Returns a PATH with that directory first.
 */
export function pathWith(folder: string, name: string, script: string): string {
  mkdirSync(folder);
  chmodSync(folder, 0o755);
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return `${folder}:${process.env["PATH"]}`;
}

/**
 * Settings of an agent with both engines: `tofu` is a script that runs terraform, in `bin` of this
 * directory.
 */
export const bothEngines = (directory: string): Record<string, string> => {
  const bin = join(directory, "bin");
  return {
    PATH: pathWith(bin, "tofu", `exec ${realTerraform()} "$@"`),
    WINDLASS_CONCURRENCY: "2",
    WINDLASS_JOB_PATHS: bin,
  };
};

/** A PATH with a terraform that ignores SIGINT, as one that hangs in a provider does. */
export const stubbornTerraform = (folder: string): string =>
  pathWith(folder, "terraform", `trap '' INT\n"${realTerraform()}" "$@"\nexit $?`);
