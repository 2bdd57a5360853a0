/** Zones and configurations by which pages choose what a rule or a schedule is for. */
import type { UserCaller } from "../services/callers.ts";
import { listConfigurationNames } from "../services/configurations/configurations.ts";
import type { Context } from "../services/context.ts";
import { listZoneNames } from "../services/zones/zones.ts";
import { html, type Html } from "./page/html.ts";

/** A zone or a configuration, as `zone:ID` or `configuration:ID`. */
export type Place = readonly [value: string, name: string];

interface Placed {
  readonly zone_id: string | null;
  readonly configuration_id: string | null;
}

/** Zones, and configurations, that a form offers. */
const placesShown = 500;

export async function listPlaces(context: Context, caller: UserCaller): Promise<Place[]> {
  const [zones, configurations] = await Promise.all([
    listZoneNames(context, caller, placesShown),
    listConfigurationNames(context, caller, placesShown),
  ]);
  return [
    ...zones.map(({ id, name }): Place => [`zone:${id}`, name]),
    ...configurations.map(({ id, name }): Place => [`configuration:${id}`, name]),
  ];
}

export const placeOptions = (places: readonly Place[]): Place[] =>
  places.map(([value, name]) => [value, value.startsWith("zone:") ? `Zone ${name}` : name]);

/** The value of a field; empty: of the whole space. */
export const placeOf = ({ zone_id, configuration_id }: Placed): string =>
  configuration_id !== null
    ? `configuration:${configuration_id}`
    : zone_id !== null
      ? `zone:${zone_id}`
      : "";

export function placedBy(value: string): Placed {
  const [scope, id = ""] = value.split(":");
  return {
    zone_id: scope === "zone" ? id : null,
    configuration_id: scope === "configuration" ? id : null,
  };
}

export function placeView(it: Placed, places: readonly Place[]): Html {
  const name = places.find(([value]) => value === placeOf(it))?.[1];
  return it.configuration_id === null
    ? html`zone <a href="/zones/${it.zone_id}">${name ?? it.zone_id}</a>`
    : html`<a href="/configurations/${it.configuration_id}">${name ?? it.configuration_id}</a>`;
}
