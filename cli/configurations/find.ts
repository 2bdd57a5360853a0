/** Finds configurations by name or id. */
import type { Configuration } from "../../protocol/configurations.ts";
import { ProblemError } from "../../protocol/transport.ts";
import type { Api } from "../api/api.ts";
import { find } from "../api/find.ts";
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

/** Returns the configuration with this name or id. Throws `CliError` with similar names. */
export const configurationOf = async (api: Api, name: string): Promise<Configuration> =>
  (await findConfiguration(api, name)) ??
  find(
    "configuration",
    "configurations",
    (await api.call("listConfigurations")).configurations,
    name,
  );
