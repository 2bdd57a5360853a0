/** `windlass up`: the one command for a person with a directory of terraform. */
import { Command } from "@commander-js/extra-typings";
import { examples, repeated, yes } from "../noun.ts";
import { action, type Run } from "../run.ts";
import type { UpOptions } from "../up/up.ts";

/** The command with its help; its work is loaded when it runs. */
export const upCommand = () =>
  examples(
    new Command("up")
      .description(
        "upload a directory, plan it, show what would change, ask, deploy, print the outputs",
      )
      .argument("[directory]", "the directory with the terraform files", ".")
      .option("--name <name>", "the configuration; else it has the directory's name")
      .option("--zone <name>", "the zone it is made in, and made itself where there is none")
      .addOption(repeated("--var <name=value>", "a variable; [ or { begins JSON; again for more"))
      .addOption(repeated("--var-file <file>", "variables of a .tfvars.json file; again for more"))
      .addOption(
        repeated(
          "--sensitive <name>",
          "a secret variable: asked for, or a line of stdin; again for more",
        ),
      )
      .addOption(repeated("--label <label>", "a worker must have it; again for more"))
      .addOption(yes())
      .action(
        action(async (run: Run, directory: string, options: UpOptions) => {
          const { up } = await import("../up/up.ts");
          await up(run, directory, options);
        }),
      ),
    [
      ["windlass up", "this directory"],
      ["windlass up infra/network --zone production --var size=3", "another one"],
      ["windlass up --yes --json | jq -r .execution_metadata.outputs", "in a pipeline"],
    ],
  );
