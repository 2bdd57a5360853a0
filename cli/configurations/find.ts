/** Finds configurations by name or id, or by the directory from which they were created. */
import type { Configuration } from "../../protocol/configurations.ts";
import { ProblemError } from "../../protocol/transport.ts";
import type { Api } from "../api/api.ts";
import { idPrefixOf } from "../api/ids.ts";
import { find } from "../api/find.ts";
import type { Run } from "../run.ts";
import { CliError } from "../terminal/output.ts";

/** Returns the configuration with this name or id, or undefined. */
export async function findConfiguration(
  api: Api,
  name: string,
): Promise<Configuration | undefined> {
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

/**
 * Returns the configuration that `find` finds. Throws `CliError` if there is none, and names the
 * other space of the user in which it is.
 */
export async function configurationOf(api: Api, name: string): Promise<Configuration> {
  const named = await findConfiguration(api, name);
  if (named) return named;
  const { configurations } = await api.call("listConfigurations");
  try {
    return find(api, "configuration", "configurations", configurations, name);
  } catch (error) {
    const { spaceHint } = await import("../teams/elsewhere.ts");
    const hint = await spaceHint(api, (other) => isIn(other, name));
    if (hint === "") throw error;
    throw new CliError(`There is no configuration "${name}" here.${hint}`);
  }
}

async function isIn(api: Api, name: string): Promise<boolean> {
  if (await findConfiguration(api, name)) return true;
  const { configurations } =
    idPrefixOf(name) === undefined ? { configurations: [] } : await api.call("listConfigurations");
  return find(api, "configuration", "configurations", configurations, name) !== undefined;
}

/**
 * Returns the configuration that `windlass up` created from the current directory, and the run in
 * its space.
 */
export async function configurationHere(
  current: Run,
): Promise<{ run: Run; configuration: Configuration }> {
  const [{ readOrigins }, { inLinkedSpace, madeFrom }] = await Promise.all([
    import("../up/origin.ts"),
    import("../up/linked-space.ts"),
  ]);
  const origins = await readOrigins(process.cwd());
  const run = await inLinkedSpace(current, origins);
  const [configuration, ...others] = await madeFrom(run.api, origins);
  if (!configuration)
    throw new CliError(
      "- is the latest job of the configuration of the current directory, and this one has none here. Name the configuration: NAME/-",
      2,
    );
  if (others.length === 0) return { run, configuration };
  const names = [configuration, ...others].map(({ name }) => `${name}/-`);
  throw new CliError(
    `Several configurations were created from this directory. Pass ${names.join(" or ")}`,
    2,
  );
}
