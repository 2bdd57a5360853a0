/** Finds zones by name or id. */
import type { Zone } from "../../protocol/configurations.ts";
import type { Api } from "../api/api.ts";
import { findIn } from "../teams/elsewhere.ts";

/** Throws `CliError` if there is none, with the user's other space that has it. */
export const findZone = (api: Api, name: string): Promise<Zone> =>
  findIn(api, "zone", "zones", async (one) => (await one.call("listZones")).zones, name);
