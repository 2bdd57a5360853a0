/** `windlass zones`: named groups of configurations. */
import type { Zone } from "../../protocol/configurations.ts";
import { examples, noun, verbExamples, yes } from "../noun.ts";
import { shellWord } from "../../common/shell-word.ts";
import { action, type Run } from "../run.ts";
import { findZone } from "../zones/find.ts";
import { teamWords } from "../api/team.ts";
import { time } from "../terminal/times.ts";

export function zonesCommand() {
  const zones = noun(
    "zones",
    "groups of configurations, such as a region, an account or a customer",
  );
  zones
    .command("list")
    .description("list your zones")
    .action(
      action(async ({ api, list }) => {
        const response = await api.call("listZones");
        list(
          response.zones,
          {
            NAME: ({ name }) => name,
            CONFIGURATIONS: ({ specs }) => specs.length,
            CREATED: ({ created_at }) => time(created_at),
            ID: ({ id }) => id,
          },
          `There are no zones yet. To create one: windlass zones create NAME${teamWords(api.team)}`,
        );
      }),
    );
  zones
    .command("show")
    .description("show a zone and its configurations")
    .argument("<name>", "name or id of the zone")
    .action(action(async (run: Run, name: string) => show(run, await findZone(run.api, name))));
  zones
    .command("create")
    .description("create a zone")
    .argument("<name>", "1 to 100 characters")
    .action(
      action(async (run: Run, name: string) => {
        await show(run, await run.api.call("createZone", { body: { name } }));
      }),
    );
  zones
    .command("rename")
    .description("rename a zone")
    .argument("<name>", "name or id of the zone")
    .argument("<new-name>", "1 to 100 characters")
    .action(
      action(async (run: Run, name: string, newName: string) => {
        const { id } = await findZone(run.api, name);
        await show(
          run,
          await run.api.call("updateZone", { params: { id }, body: { name: newName } }),
        );
      }),
    );
  examples(
    zones
      .command("move")
      .description(
        "move a zone with its configurations, their jobs and states to the team of --team",
      )
      .argument("<name>", "name or id of the zone, in the space that commands act in")
      .addOption(yes())
      .action(
        action(async (run: Run, name: string, options: { yes?: true | undefined }) =>
          (await import("../zones/move.ts")).move(run, name, options),
        ),
      ),
    [
      ["windlass zones move production --team platform", "you must be an admin there"],
      ['windlass zones move production --team ""', "to your personal space"],
    ],
  );
  zones
    .command("delete")
    .description("delete a zone that has no configurations")
    .argument("<name>", "name or id of the zone")
    .addOption(yes())
    .action(
      action(async (run: Run, name: string, options: { yes?: true | undefined }) => {
        const zone = await findZone(run.api, name);
        const { confirm } = await import("../terminal/ask.ts");
        await confirm(`Delete the zone "${zone.name}"?`, options);
        const { withRemedy } = await import("../api/failures.ts");
        const team = teamWords(run.api.team);
        const remedy = `Move each to another zone (windlass configurations update NAME --zone ZONE${team}) or delete it (windlass configurations delete NAME${team}). To see them: windlass zones show ${shellWord(zone.name)}${team}`;
        await run.api.call("deleteZone", { params: { id: zone.id } }).catch((error: unknown) => {
          throw withRemedy(error, { zone_not_empty: remedy });
        });
        run.done(`The zone "${zone.name}" is deleted.`);
      }),
    );
  verbExamples(zones, {
    list: ["--json", "for scripts"],
    show: ["production", "with its configurations"],
    create: ["production", "create one"],
    rename: ["production live", "its configurations stay in it"],
    delete: ["preview", "it must be empty"],
  });
  return examples(zones, [
    ["windlass zones create production", "create one"],
    ["windlass zones list --json", "for scripts"],
  ]);
}

async function show(run: Run, zone: Zone): Promise<void> {
  const { listedStatus } = await import("../configurations/failed.ts");
  run.show(zone, {
    name: zone.name,
    id: zone.id,
    created: time(zone.created_at),
    configurations:
      zone.specs.map((spec) => `${spec.name} (${listedStatus(spec)})`).join("\n") || "none",
  });
}
