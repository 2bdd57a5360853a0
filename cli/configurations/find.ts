/** Finds configurations by name or id, or as `-` by the directory from which they were created. */
import type { Configuration } from "../../protocol/configurations.ts";
import { ProblemError } from "../../protocol/transport.ts";
import type { Api } from "../api/api.ts";
import { idPrefixOf } from "../api/ids.ts";
import { find } from "../api/find.ts";
import type { Run } from "../run.ts";
import { spaceHint, withSpace } from "../teams/elsewhere.ts";
import { CliError } from "../terminal/output.ts";
import { shellWordsOr } from "../../common/shell-word.ts";

export async function findConfiguration(
  api: Api,
  name: string,
): Promise<Configuration | undefined> {
  // These are no names in a path: the list has such a configuration.
  if (/^\.{0,2}$/.test(name)) return undefined;
  try {
    return await api.call("getConfiguration", { params: { name } });
  } catch (error) {
    if (
      error instanceof CliError &&
      error.cause instanceof ProblemError &&
      error.cause.status === 404
    )
      return undefined;
    throw error;
  }
}

/** Stands for the configuration of the current directory. */
const here = "-";

/**
 * By name or id, or for `-` that of this directory. Throws `CliError` if there is none, with the
 * user's other space that has it. `nameAs` writes another name for the command line.
 */
export async function configurationOf(
  api: Api,
  name: string,
  nameAs?: (name: string) => string,
): Promise<Configuration> {
  if (name === here) return onlyOne(api, originsHere());
  const named = await findConfiguration(api, name);
  if (named) return named;
  const { configurations } = await api.call("listConfigurations");
  try {
    return find(api, "configuration", "configurations", configurations, name, undefined, nameAs);
  } catch (error) {
    throw await withSpace(error, api, "configuration", name, (other) => isIn(other, name));
  }
}

/** Also returns the run in its space: for `-`, where `windlass up` deployed this directory. */
export async function inSpaceOf(
  current: Run,
  name: string,
  nameAs: (name: string) => string = (one) => one,
): Promise<{ run: Run; configuration: Configuration }> {
  if (name !== here)
    return { run: current, configuration: await configurationOf(current.api, name) };
  const { inLinkedSpace } = await import("../up/linked-space.ts");
  const origins = originsHere();
  const run = await inLinkedSpace(current, origins);
  return { run, configuration: await onlyOne(run.api, origins, nameAs) };
}

/** Refuses a name that would stand for the configuration of the current directory. */
export function refuseHere(name: string | undefined): void {
  if (name !== here) return;
  throw new CliError(
    "- is not a name: it stands for the configuration of the current directory. Pass another name.",
    2,
  );
}

async function isIn(api: Api, name: string): Promise<boolean> {
  if (await findConfiguration(api, name)) return true;
  const { configurations } =
    idPrefixOf(name) === undefined ? { configurations: [] } : await api.call("listConfigurations");
  return find(api, "configuration", "configurations", configurations, name) !== undefined;
}

const originsHere = async (): Promise<string[]> =>
  (await import("../up/origin.ts")).readOrigins(process.cwd());

/** Returns the only configuration that was created from a directory with these origins. */
async function onlyOne(
  api: Api,
  origins: Promise<readonly string[]>,
  nameAs = (name: string): string => name,
): Promise<Configuration> {
  const { isMadeIn, madeFrom } = await import("../up/linked-space.ts");
  const [configuration, ...others] = await madeFrom(api, origins);
  if (!configuration) {
    const hint = await spaceHint(api, (other) => isMadeIn(other, origins));
    throw new CliError(
      `- stands for the configuration of the current directory, and this one has none here.${hint || ` Name the configuration: ${nameAs("NAME")}`}`,
      2,
    );
  }
  if (others.length === 0) return configuration;
  const names = [configuration, ...others].map(({ name }) => nameAs(name));
  throw new CliError(
    `Several configurations were created from this directory. Pass ${shellWordsOr(names)}`,
    2,
  );
}
