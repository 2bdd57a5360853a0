/** The zone of a configuration that `windlass up` creates. */
import type { Zone } from "../../protocol/configurations.ts";
import { isRefusal } from "../api/failures.ts";
import type { Run } from "../run.ts";
import { CliError } from "../terminal/output.ts";
import { shellWordsOr } from "../terminal/shell-word.ts";

/** Returns the zone of this name, or without a name the only zone; undefined if there is none. */
export async function findZone(run: Run, name: string | undefined): Promise<Zone | undefined> {
  const { zones } = await run.api.call("listZones");
  if (name === undefined && zones.length > 1)
    throw new CliError(
      `You have several zones. Pass --zone ${shellWordsOr(zones.map((zone) => zone.name))}`,
      2,
    );
  const composed = name?.normalize("NFC");
  return name === undefined ? zones[0] : zones.find((zone) => [name, composed].includes(zone.name));
}

/** Creates a zone, or returns the one that another command has just created. */
export async function createZone(run: Run, name = "default"): Promise<Zone> {
  try {
    const made = await run.api.call("createZone", { body: { name } });
    run.done(`Zone "${made.name}" created.`);
    return made;
  } catch (error) {
    const zone = isRefusal(error, "name_taken") ? await findZone(run, name) : undefined;
    if (zone) return zone;
    throw error;
  }
}
