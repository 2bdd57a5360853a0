/** `windlass up`: the one command for a person with a directory of terraform. */
import { Command } from "@commander-js/extra-typings";
import { examples, yes } from "../noun.ts";
import { action, type Run } from "../run.ts";
import type { UpOptions } from "../up/up.ts";
import { backendOption, debugOption, valueOptions } from "./value-options.ts";

/** The command with its help; its work is loaded when it runs. */
export function upCommand() {
  const up = new Command("up")
    .description(
      "upload a directory, plan it, show what would change, ask, deploy, print the outputs",
    )
    .argument("[directory]", "the directory with the terraform files", ".")
    .option("--name <name>", "the configuration; else it has the directory's name")
    .option("--zone <name>", "the zone it is made in, and made itself where there is none");
  for (const option of valueOptions()) up.addOption(option);
  up.addOption(backendOption())
    .addOption(debugOption())
    .addOption(yes())
    .action(
      action(async (run: Run, directory: string, options: UpOptions) => {
        await (await import("../up/up.ts")).up(run, directory, options);
      }),
    );
  return examples(up, [
    ["windlass up", "this directory"],
    ["windlass up infra/network --zone production --var size=3", "another one"],
    ["windlass up --yes --json | jq -r .execution_metadata.outputs", "in a pipeline"],
  ]);
}
