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
 * Runs terraform as OpenTofu: it has `-var-file` in each command, and uses it there before anything
 * else.
 */
export const asTofu = (): string => `
case "$1" in get | output | show | state)
  for word; do shift; case "$word" in -var-file=*) ;; *) set -- "$@" "$word" ;; esac; done
esac
exec ${realTerraform()} "$@"`;

/**
 * Settings of an agent with both engines: `tofu` is a script that runs terraform, in `bin` of this
 * directory.
 */
export const bothEngines = (directory: string, tofu = asTofu()): Record<string, string> => {
  const bin = join(directory, "bin");
  return {
    PATH: pathWith(bin, "tofu", tofu),
    WINDLASS_CONCURRENCY: "2",
    WINDLASS_JOB_PATHS: bin,
  };
};

/** A PATH with a terraform that ignores SIGINT, as one that hangs in a provider does. */
export const stubbornTerraform = (folder: string): string =>
  pathWith(folder, "terraform", `trap '' INT\n"${realTerraform()}" "$@"\nexit $?`);
