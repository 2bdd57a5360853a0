/** `windlass up`: deploys a directory of Terraform files with one command. */
import { Command, Option } from "@commander-js/extra-typings";
import { examples, exitCodes } from "../noun.ts";
import { action, type Run } from "../run.ts";
import type { UpOptions } from "../up/up.ts";
import { debugOption, fieldOptions } from "./value-options.ts";

export function upCommand() {
  const up = new Command("up")
    .description("upload a directory, plan it, show the changes, ask, deploy, print the outputs")
    .argument("[directory]", "the directory with the Terraform files", ".")
    .option("--name <name>", "name of the configuration (default: that of the directory)")
    .option("--zone <name>", "zone of a new configuration; created if it does not exist");
  for (const option of fieldOptions()) up.addOption(option);
  up.addOption(debugOption())
    .addOption(new Option("-y, --yes", "deploy the plan without asking; needed without a terminal"))
    .option("--verbose", "show the whole log on a terminal too, not one line for each step")
    .option("--no-wait", "return when the deployment is queued, such as one that needs approval")
    .option(
      "--adopt",
      "use a configuration that was created from another directory, without asking; --yes does not answer that question",
    )
    .action(
      action(async (run: Run, directory: string, options: UpOptions) => {
        await (await import("../up/up.ts")).up(run, directory, options);
      }),
    );
  exitCodes(up, {
    0: "deployed, or nothing to change; with --no-wait: queued",
    1: "a job failed or was cancelled, or the server refused a request",
    2: "wrong usage, or a question about the directory could not be asked",
    3: "the plan was made, but not confirmed: nothing is deployed",
    130: "interrupted; a job that was queued continues",
  });
  return examples(up, [
    ["windlass up", "deploy the current directory"],
    ["windlass up infra/network --zone production --var size=3", "deploy another directory"],
    ["windlass up --var-file prod.tfvars --engine-version '~> 1.14'", "with values from a file"],
    ["windlass up --yes --no-wait", "in a pipeline, where people approve the deployment"],
    ["windlass up --yes --json | jq -r .execution_metadata.outputs", "in a pipeline"],
  ]);
}
