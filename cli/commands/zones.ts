/** `windlass zones`: the places where configurations live, such as a region, an account or a customer. */
import type { Zone } from "../../protocol/configurations.ts";
import { examples, noun, verbExamples } from "../noun.ts";
import { action, type Run } from "../run.ts";
import { find } from "../api/find.ts";
import { time } from "../terminal/times.ts";

/** The command with its verbs. */
export function zonesCommand() {
  const zones = noun("zones", "places where configurations live: a region, an account, a customer");
  zones
    .command("list")
    .description("list your zones")
    .action(
      action(async ({ api, list }) => {
        const answer = await api.call("listZones");
        list(
          answer.zones,
          {
            NAME: ({ name }) => name,
            CONFIGURATIONS: ({ specs }) => specs.length,
            CREATED: ({ created_at }) => time(created_at),
            ID: ({ id }) => id,
          },
          "There are no zones yet. Make one: windlass zones create NAME",
        );
      }),
    );
  zones
    .command("show")
    .description("show a zone and its configurations")
    .argument("<name>", "name or id of the zone")
    .action(action(async (run: Run, name: string) => show(run, await zoneOf(run, name))));
  zones
    .command("create")
    .description("make a zone")
    .argument("<name>", "1 to 100 characters")
    .action(
      action(async (run: Run, name: string) => {
        show(run, await run.api.call("createZone", { body: { name } }));
      }),
    );
  zones
    .command("rename")
    .description("give a zone another name")
    .argument("<name>", "name or id of the zone")
    .argument("<new-name>", "1 to 100 characters")
    .action(
      action(async (run: Run, name: string, newName: string) => {
        const { id } = await zoneOf(run, name);
        show(run, await run.api.call("updateZone", { params: { id }, body: { name: newName } }));
      }),
    );
  zones
    .command("delete")
    .description("delete a zone that has no configurations")
    .argument("<name>", "name or id of the zone")
    .action(
      action(async (run: Run, name: string) => {
        const zone = await zoneOf(run, name);
        await run.api.call("deleteZone", { params: { id: zone.id } });
        run.done(`The zone "${zone.name}" is deleted.`);
      }),
    );
  verbExamples(zones, {
    list: ["--json", "for programs"],
    show: ["production", "with its configurations"],
    create: ["production", "make one"],
    rename: ["production live", "what is in it stays"],
    delete: ["preview", "once it is empty"],
  });
  return examples(zones, [
    ["windlass zones create production", "make one"],
    ["windlass zones list --json", "for programs"],
  ]);
}

/** A zone by name or id. Throws `Failure` when there is none. */
export const zoneOf = async ({ api }: Run, name: string): Promise<Zone> =>
  find("zone", "zones", (await api.call("listZones")).zones, name);

function show(run: Run, zone: Zone): void {
  run.show(zone, {
    name: zone.name,
    id: zone.id,
    created: time(zone.created_at),
    configurations:
      zone.specs.map(({ name, status }) => `${name} (${status})`).join(", ") || "none",
  });
}
