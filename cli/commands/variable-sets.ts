/** `windlass variable-sets`: values that several configurations share. */
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { configurationHelp, examples, noun, repeated, verbExamples, yes } from "../noun.ts";
import { action, type Run } from "../run.ts";
import type { AttachOptions, SetOptions, UpdateOptions } from "../variable-sets/verbs.ts";
import { unsetOptions, valueOptions } from "./value-options.ts";

const verbs = () => import("../variable-sets/verbs.ts");

export function variableSetsCommand() {
  const sets = noun(
    "variable-sets",
    "variables and environment that several configurations or whole zones share",
  );
  const named = (name: string, description: string) =>
    sets.command(name).description(description).argument("<name>", "name or id of the set");
  sets
    .command("list")
    .description("list your variable sets")
    .action(action(async (run: Run) => (await verbs()).list(run)));
  named("show", "show a variable set, and what it is attached to").action(
    action(async (run: Run, name: string) => (await verbs()).show(run, name)),
  );
  const create = sets
    .command("create")
    .description("create a variable set")
    .argument("<name>", "1 to 100 characters");
  for (const option of valueOptions()) create.addOption(option);
  addTargets(
    create,
    "attach it to this zone: its name or id; repeatable",
    "attach it to this configuration: its name or id, - for that of this directory; repeatable",
  );
  create.action(
    action(async (run: Run, name: string, options: SetOptions) =>
      (await verbs()).create(run, name, options),
    ),
  );
  examples(create, [
    ["windlass variable-sets create eu --var region=eu-west-1 --zone europe", "for a whole zone"],
    [
      "windlass variable-sets create dns --sensitive-env DNS_API_TOKEN < token",
      "read a secret from a file",
    ],
  ]);
  const update = named(
    "update",
    "change a variable set; plans that used other values become stale",
  );
  for (const option of valueOptions()) update.addOption(option);
  update.option("--rename <name>", "the new name");
  for (const option of unsetOptions()) update.addOption(option);
  update.action(
    action(async (run: Run, name: string, options: UpdateOptions) =>
      (await verbs()).update(run, name, options),
    ),
  );
  examples(update, [
    ["windlass variable-sets update eu --var region=eu-west-2 --unset zone", "change its values"],
    ["windlass variable-sets update dns --sensitive-env DNS_API_TOKEN < token", "replace a secret"],
  ]);
  named("delete", "delete a variable set that is attached to nothing")
    .addOption(yes())
    .action(
      action(async (run: Run, name: string, options: { yes?: true | undefined }) =>
        (await verbs()).remove(run, name, options),
      ),
    );
  for (const [verb, description] of [
    ["attach", "give the values of a set to configurations, or to all configurations of zones"],
    ["detach", "take a set from configurations or zones"],
  ] as const) {
    const command = named(verb, description);
    addTargets(command, "name or id of a zone; repeatable", `${configurationHelp}; repeatable`);
    command.action(
      action(async (run: Run, name: string, options: AttachOptions) =>
        (await verbs()).setAttached(run, name, options, verb === "attach"),
      ),
    );
  }
  verbExamples(sets, {
    list: ["--json", "for scripts"],
    show: ["eu", "its values, and where they apply"],
    delete: ["eu", "asks for confirmation"],
    attach: ["eu --configuration network", "its next jobs get the values"],
    detach: ["eu --zone europe", "for all its configurations"],
  });
  return examples(sets, [
    ["windlass variable-sets create eu --var region=eu-west-1 --zone europe", "create and attach"],
    ["windlass configurations show network", "which set each value comes from"],
  ]);
}

function addTargets(command: CommandUnknownOpts, zone: string, configuration: string): void {
  command
    .addOption(repeated("--zone <name>", zone))
    .addOption(repeated("--configuration <name>", configuration));
}
