/** The engine on the PATH, and scripts in its place. */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Engine } from "../../../protocol/configurations.ts";
import { testEngine, testProgram } from "./engines.ts";

/** The path of the real terraform; in a run with OpenTofu, of tofu. */
export const realTerraform = (): string =>
  execFileSync("sh", ["-c", `command -v ${testProgram}`], { encoding: "utf8" }).trim();

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

/** The engines of a run: both, with a script in place of OpenTofu; or the real OpenTofu alone. */
export const testEngines: readonly Engine[] =
  testEngine === "opentofu" ? ["opentofu"] : ["terraform", "opentofu"];

/**
 * Settings of an agent with the engines of this run. A script in place of `tofu` runs terraform, in
 * `bin` of this directory.
 */
export const bothEngines = (directory: string, tofu = asTofu()): Record<string, string> => {
  const settings = { WINDLASS_CONCURRENCY: "2" };
  if (testEngine === "opentofu") return settings;
  const bin = join(directory, "bin");
  return { ...settings, PATH: pathWith(bin, "tofu", tofu), WINDLASS_JOB_PATHS: bin };
};

/** A PATH with a terraform that ignores SIGINT, as one that hangs in a provider does. */
export const stubbornTerraform = (folder: string): string =>
  pathWith(folder, testProgram, `trap '' INT\n"${realTerraform()}" "$@"\nexit $?`);
