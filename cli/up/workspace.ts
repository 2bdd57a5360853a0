/** Workspaces of terraform, of which a configuration has one, named `default`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readIfExists } from "../../common/files.ts";
import { terraformFilesIn } from "../../common/terraform-files.ts";
import type { Run } from "../run.ts";

/** Says so if the files ask for the workspace, or another one is chosen in the directory. */
export function noteWorkspace(run: Run, directory: string): void {
  const chosen = readIfExists(join(directory, ".terraform/environment"))?.trim() ?? "";
  const isOther = chosen !== "" && chosen !== "default";
  const users = terraformFilesIn(directory).filter((name) =>
    usesWorkspace.test(readFileSync(join(directory, name), "utf8")),
  );
  if (!isOther && users.length === 0) return;
  const why = [
    ...(isOther ? [`this directory has the workspace "${chosen}"`] : []),
    ...(users.length > 0 ? [`${users[0]} uses terraform.workspace`] : []),
  ].join(", and ");
  run.done(
    `Warning: ${why}, but in every job the workspace is "default". Use a variable, and one configuration for each workspace.`,
  );
}

/** Not in a comment that begins its line. */
const usesWorkspace = /^(?!\s*(?:#|\/\/)).*\bterraform\.workspace\b/m;
