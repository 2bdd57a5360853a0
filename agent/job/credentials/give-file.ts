/** Gives a job a file with a secret, whatever the job has put in its place. */
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JobContext } from "../context.ts";

/**
 * Writes it in the workspace's root, where the job can create nothing, and moves it: a job that runs
 * sees the old file or the new one, and a link in its place is replaced, not followed.
 */
export function giveFile(
  { workspace, isolation }: Pick<JobContext, "workspace" | "isolation">,
  path: string,
  text: string,
): void {
  const temporary = join(workspace.root, "given.tmp");
  rmSync(temporary, { force: true });
  writeFileSync(temporary, text, { flag: "wx", mode: 0o600 });
  isolation.give(temporary);
  renameSync(temporary, path);
}
