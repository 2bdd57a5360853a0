/** Keeps `windlass up` from deploying one directory over another, or a second time. */
import type { Configuration } from "../../protocol/configurations.ts";
import type { Run } from "../run.ts";
import { canAsk, confirm } from "../terminal/ask.ts";
import { CliError, say } from "../terminal/output.ts";
import { shellWord, shellWordsOr } from "../../common/shell-word.ts";
import { madeFrom } from "./linked-space.ts";
import { hereText, isFrom, originText } from "./origin.ts";

/** Asks before it uses a configuration that another directory made; `--yes` is no answer. */
export async function confirmOrigin(
  { name, origin }: Configuration,
  origins: readonly string[],
  { adopt }: { readonly adopt?: true | undefined },
): Promise<void> {
  if (adopt || isFrom(origins, origin)) return;
  const why = `The configuration "${name}" was created from ${originText(origin)}, not from ${hereText(origins)}. A plan of other files can destroy what it has deployed.`;
  if (!canAsk())
    throw new CliError(
      `${why} Nothing was changed. Pass another --name, or --adopt to use this configuration from now on.`,
      2,
    );
  say(why);
  await confirm("Use this configuration for this directory from now on?", {});
}

/**
 * Throws `CliError` if the directory has a configuration of another name, as after a rename: a
 * second one would create everything again. `named`: the one with the name of the directory.
 */
export async function refuseSecond(
  run: Run,
  name: string,
  origins: readonly string[],
  named: Configuration | undefined,
): Promise<void> {
  if (isFrom(origins, named?.origin)) return;
  const names = (await madeFrom(run.api, origins)).map((one) => one.name);
  // Another command has just created the one of this name from this directory.
  if (names.length === 0 || names.includes(name)) return;
  const other = named ? "another --name" : `--name ${shellWord(name)}`;
  throw new CliError(
    `This directory, or one that it was copied from, was deployed as ${names.map((one) => `"${one}"`).join(" and ")}. Pass --name ${shellWordsOr(names)} to deploy that again, or ${other} to create everything a second time.`,
    2,
  );
}
