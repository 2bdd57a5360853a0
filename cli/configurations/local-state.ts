/** A state that terraform has left beside the files, which are now deployed by the control plane. */
import { statSync } from "node:fs";
import { join } from "node:path";
import type { Configuration } from "../../protocol/configurations.ts";
import { teamWords } from "../api/team.ts";
import type { Run } from "../run.ts";
import { shellWord } from "../terminal/shell-word.ts";

/**
 * Says how to take over the directory's state, if the configuration has none yet: without it, what
 * exists would be created once more.
 */
export async function noteLocalState(
  run: Run,
  directory: string,
  { id, name, state_backend }: Configuration,
): Promise<void> {
  const file = join(directory, "terraform.tfstate");
  if (state_backend === "own" || !isFilled(file)) return;
  const newest = { params: { name: id }, query: { limit: 1 } };
  const { state_versions } = await run.api.call("listStateVersions", newest);
  if (state_versions.length > 0) return;
  run.done(
    `${file} is not used: a plan would create again what it records. To take it over before you deploy, run: windlass state push ${shellWord(name)} --file ${shellWord(file)}${teamWords(run.api.team)}`,
  );
}

/** Terraform leaves an empty file when it moves the state to another backend. */
function isFilled(file: string): boolean {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat?.isFile() === true && stat.size > 0;
}
