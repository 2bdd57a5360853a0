import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readIfExists } from "../../common/files.ts";
import { terraformFilesIn } from "../../common/terraform-files.ts";
import { asksForWorkspace, workspaceWarning } from "../../common/terraform-workspace.ts";
import type { Run } from "../run.ts";

/** Warns if the files ask for the workspace, or another one is chosen in the directory. */
export function noteWorkspace(run: Run, directory: string): void {
  const chosen = readIfExists(join(directory, ".terraform/environment"));
  const user = terraformFilesIn(directory).find((name) =>
    asksForWorkspace(readFileSync(join(directory, name), "utf8")),
  );
  const warning = workspaceWarning("this directory", chosen, user);
  if (warning !== undefined) run.done(warning);
}
