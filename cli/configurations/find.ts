/** A configuration by what people call it. */
import type { Configuration } from "../../protocol/configurations.ts";
import { ProblemError } from "../../protocol/transport.ts";
import type { Api } from "../api/api.ts";
import { find } from "../api/find.ts";
import { Failure } from "../terminal/output.ts";

/** The configuration of this name or id, undefined when there is none. */
export async function maybeConfiguration(
  api: Api,
  name: string,
): Promise<Configuration | undefined> {
  try {
    return await api.call("getConfiguration", { params: { name } });
  } catch (error) {
    if (
      error instanceof Failure &&
      error.cause instanceof ProblemError &&
      error.cause.status === 404
    )
      return undefined;
    throw error;
  }
}

/** The configuration of this name or id. Throws `Failure` with the names that come close. */
export const configurationOf = async (api: Api, name: string): Promise<Configuration> =>
  (await maybeConfiguration(api, name)) ??
  find(
    "configuration",
    "configurations",
    (await api.call("listConfigurations")).configurations,
    name,
  );
