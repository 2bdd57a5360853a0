/**
 * Programs that a machine may lack. A test that needs one is skipped with the reason and named at
 * the end of the run. As root in CI it fails.
 */
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { beforeEach } from "vitest";

/** Returns why tests that start these programs cannot run here; undefined if they can. */
export function lackOfProgram(...programs: readonly string[]): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const missing = programs.filter((program) =>
    folders.every((folder) => !isExecutable(join(folder, program))),
  );
  return missing.length > 0 ? `not on the PATH: ${missing.join(", ")}` : undefined;
}

/** Skips every test of the surrounding `describe` or file if something is missing. */
export function skipAt(lack: string | undefined): void {
  beforeEach((context) => {
    if (lack !== undefined) context.skip(lack);
  });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
