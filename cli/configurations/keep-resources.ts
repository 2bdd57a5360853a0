/** Deletes of configurations whose resources continue to exist. */
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import type { Configuration } from "../../protocol/configurations.ts";
import { teamWords } from "../api/team.ts";
import type { Run } from "../run.ts";
import { fileErrorText } from "../../common/file-errors.ts";
import { CliError } from "../terminal/output.ts";
import { shellWord } from "../../common/shell-word.ts";

/**
 * Undefined if there is none. Throws `CliError` unless the file has this state, a later one, or the
 * same resources: a migration into an empty backend makes a new lineage (measured with 1.11, http
 * and s3).
 */
export async function savedSerial(
  run: Run,
  { id, name }: Configuration,
  file: string,
): Promise<number | undefined> {
  const { api } = run;
  const saved = readState(run, name, file);
  const input = { params: { name: id }, query: { limit: 1 } };
  const [newest] = (await api.call("listStateVersions", input)).state_versions;
  if (!newest) return undefined;
  const isRelated = saved?.lineage === newest.lineage;
  if (isRelated && (saved?.serial ?? -1) >= newest.serial) return newest.serial;
  if (!isRelated && saved?.resources !== undefined) {
    const place = { params: { name: id, serial: String(newest.serial) } };
    const { body } = await api.send("downloadStateVersion", place);
    const kept = JSON.parse(await body.text()) as SavedState;
    if (isDeepStrictEqual(saved.resources, kept.resources)) return newest.serial;
  }
  const problem = isRelated
    ? `"${file}" has the serial ${saved?.serial}, and the newest version of the state has ${newest.serial}`
    : `"${file}" does not have the resources of the newest version of the state of "${name}"`;
  throw new CliError(
    `${problem}. Nothing was deleted. To save the state: windlass state pull ${shellWord(name)}${teamWords(api.team)} > terraform.tfstate`,
  );
}

interface SavedState {
  readonly lineage?: unknown;
  readonly serial?: number;
  readonly resources?: unknown;
}

/** Returns undefined if the file is not JSON. */
function readState({ api }: Run, name: string, file: string): SavedState | undefined {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new CliError(
      `The file of the saved state cannot be read: ${fileErrorText(error)}. Nothing was deleted. To save the state first: windlass state pull ${shellWord(name)}${teamWords(api.team)} > ${shellWord(file)}`,
      2,
    );
  }
  try {
    return (JSON.parse(text) ?? undefined) as SavedState | undefined;
  } catch {
    return undefined;
  }
}
