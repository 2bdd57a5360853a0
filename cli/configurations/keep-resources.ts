/** Deletes of configurations whose resources continue to exist. */
import { readFileSync } from "node:fs";
import type { Configuration } from "../../protocol/configurations.ts";
import { teamWords } from "../api/team.ts";
import type { Run } from "../run.ts";
import { fileErrorText } from "../terminal/file-errors.ts";
import { CliError } from "../terminal/output.ts";
import { shellWord } from "../terminal/shell-word.ts";

/**
 * Returns the serial of the newest version of the state; undefined if there is none. Throws
 * `CliError` unless the file has this state or a later one.
 */
export async function savedSerial(
  { api }: Run,
  { id, name }: Configuration,
  file: string,
): Promise<number | undefined> {
  const saved = readState(file);
  const input = { params: { name: id }, query: { limit: 1 } };
  const [newest] = (await api.call("listStateVersions", input)).state_versions;
  if (!newest) return undefined;
  const problem =
    saved?.lineage !== newest.lineage
      ? `"${file}" is not a state of "${name}"`
      : (saved.serial ?? -1) < newest.serial
        ? `"${file}" has the serial ${saved.serial}, and the newest version of the state has ${newest.serial}`
        : undefined;
  if (problem === undefined) return newest.serial;
  throw new CliError(
    `${problem}. Nothing was deleted. To save the state: windlass state pull ${shellWord(name)}${teamWords(api.team)} > terraform.tfstate`,
  );
}

/** Returns undefined if the file is not JSON. */
function readState(file: string): { lineage?: unknown; serial?: number } | undefined {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new CliError(`The state cannot be read: ${fileErrorText(error)}`, 2);
  }
  try {
    return (JSON.parse(text) ?? undefined) as { lineage?: unknown; serial?: number } | undefined;
  } catch {
    return undefined;
  }
}
