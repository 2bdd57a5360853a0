/** Finds zones by name or id. */
import type { Zone } from "../../protocol/configurations.ts";
import type { Api } from "../api/api.ts";
import { findIn } from "../teams/elsewhere.ts";

/**
 * Returns the zone with this name or id. Throws `CliError` if there is none, and names the other
 * space of the user in which it is.
 */
export const findZone = (api: Api, name: string): Promise<Zone> =>
  findIn(api, "zone", "zones", async (one) => (await one.call("listZones")).zones, name);
