/** Workspaces of jobs, with their directories. */
import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { workspaceAt, type Workspace } from "../../../agent/job/workspace.ts";

/** Creates the workspace of a job in this work directory. */
export function newWorkspace(workDir: string, id: string = randomUUID()): Workspace {
  const workspace = workspaceAt(join(workDir, "workspaces", id));
  for (const folder of Object.values(workspace.folders))
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  return workspace;
}
