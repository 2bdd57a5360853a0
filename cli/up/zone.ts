/** The zone of a configuration that `windlass up` creates. */
import type { Configuration, Zone } from "../../protocol/configurations.ts";
import { isRefusal } from "../api/failures.ts";
import { idPrefixOf } from "../api/ids.ts";
import { teamWords } from "../api/team.ts";
import type { Run } from "../run.ts";
import { CliError } from "../terminal/output.ts";
import { shellWord, shellWordsOr } from "../../common/shell-word.ts";

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

/** Throws if the configuration is not in the zone of this name or id: `up` moves none. */
export async function refuseOtherZone(
  { api }: Run,
  { name, zone_id }: Pick<Configuration, "name" | "zone_id">,
  wanted: string,
): Promise<void> {
  const { zones } = await api.call("listZones");
  const itsZone = zones.filter(({ id }) => id === zone_id);
  const prefix = idPrefixOf(wanted);
  const isThere = itsZone.some(
    (zone) =>
      [wanted, wanted.normalize("NFC")].includes(zone.name) ||
      (prefix !== undefined && zone.id.startsWith(prefix)),
  );
  if (isThere) return;
  throw new CliError(
    `The configuration "${name}" is in the zone "${itsZone[0]?.name ?? zone_id}", not in "${wanted}". ` +
      `To create another configuration there, pass another --name. ` +
      `To move this one to a zone that exists: windlass configurations update ${shellWord(name)} --zone ${shellWord(wanted)}${teamWords(api.team)}`,
    2,
  );
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
