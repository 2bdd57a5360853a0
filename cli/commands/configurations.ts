/** `windlass configurations`: what is deployed where, and with which values. */
import { Option, type CommandUnknownOpts } from "@commander-js/extra-typings";
import type { ChangeOptions } from "../configurations/verbs.ts";
import { examples, noun, repeated, yes, verbExamples } from "../noun.ts";
import { action, type Run } from "../run.ts";
import { backendOption, valueOptions } from "./value-options.ts";

const verbs = () => import("../configurations/verbs.ts");

/** The command with its verbs; their work is loaded when they run. */
export function configurationsCommand() {
  const configurations = noun("configurations", "terraform directories with their zone and values");
  configurations
    .command("list")
    .description("list your configurations")
    .action(action(async (run: Run) => (await verbs()).list(run)));
  configurations
    .command("show")
    .description("show a configuration, its values, and the outputs of its last deployment")
    .argument("<name>", "name or id of the configuration")
    .action(action(async (run: Run, name: string) => (await verbs()).show(run, name)));
  const create = configurations
    .command("create")
    .description("make a configuration from a directory, a git repository or a file")
    .argument("[name]", "1 to 100 characters; else the one in --file, or the directory's");
  addFields(create);
  create.action(
    action(async (run: Run, name: string | undefined, options: ChangeOptions) =>
      (await verbs()).create(run, name, options),
    ),
  );
  examples(create, [
    ["windlass configurations create --dir ./network", "named like it"],
    ["windlass configurations create db --dir db --sensitive password", "asks for its value"],
    [
      "windlass configurations create dns --git https://example.com/dns.git --ref v2",
      "the runner fetches it",
    ],
    ["windlass configurations create --file network.json", "the fields as the API has them"],
  ]);
  const update = configurations
    .command("update")
    .description("change what is named, and nothing else; plans made before are stale")
    .argument("<name>", "name or id of the configuration");
  addFields(update);
  update
    .option("--rename <name>", "its new name")
    .addOption(repeated("--unset <name>", "take a variable away; again for more"))
    .action(
      action(async (run: Run, name: string, options: ChangeOptions) =>
        (await verbs()).update(run, name, options),
      ),
    );
  examples(update, [
    ["windlass configurations update network --dir ./network", "upload it again"],
    ["windlass configurations update db --sensitive password < new-password", "from a file"],
  ]);
  configurations
    .command("delete")
    .description("delete a configuration that has nothing deployed, with its state")
    .argument("<name>", "name or id of the configuration")
    .addOption(yes())
    .action(
      action(async (run: Run, name: string, options: { yes?: true | undefined }) =>
        (await verbs()).remove(run, name, options),
      ),
    );
  verbExamples(configurations, {
    list: ["--json", "for programs"],
    show: ["network", "with its outputs"],
    delete: ["preview-42 --yes", "in a pipeline"],
  });
  return examples(configurations, [
    ["windlass configurations create network --dir ./network --zone production", "make one"],
    ["windlass configurations show network", "with the outputs of its last deployment"],
  ]);
}

/** The options that `create` and `update` share. */
function addFields(command: CommandUnknownOpts): void {
  command
    .option("--zone <name>", "name or id of its zone; may be left out where there is one")
    .option(
      "--dir <directory>",
      "pack and upload this directory; .gitignore and .windlassignore hold",
    )
    .option("--git <url>", "a repository that the runner can read")
    .option("--ref <ref>", "its branch, tag or commit")
    .option("--path <path>", "the folder in it")
    .option("--submodules", "fetch its submodules too")
    .option("--no-submodules", "do not fetch its submodules; the default")
    .option(
      "--file <file>",
      "a JSON file of the fields, as the API has them; options go before it",
    );
  for (const option of valueOptions()) command.addOption(option);
  command
    .addOption(
      repeated("--env <name=value>", "what terraform finds in its environment; again for more"),
    )
    .addOption(
      repeated(
        "--sensitive-env <name>",
        "a secret of the environment: asked for, or a line of stdin; again for more",
      ),
    )
    .option("--identity <name>", "the cloud identity that its jobs take on; none for none")
    .addOption(new Option("--engine <name>", "what runs it").choices(["terraform", "opentofu"]))
    .option("--engine-version <constraint>", 'such as "~> 1.14"')
    .option("--working-directory <path>", "where terraform runs, below the source")
    .addOption(
      repeated(
        "--source-var-file <path>",
        'a .tfvars file in the source; again for more, in place of those before; "" for none',
      ),
    )
    .addOption(backendOption())
    .addOption(
      repeated(
        "--backend-config <name=value>",
        "what the declared backend leaves open; again for more",
      ),
    )
    .addOption(
      repeated(
        "--sensitive-backend-config <name>",
        "a secret of it: asked for, or a line of stdin; again for more",
      ),
    )
    .option("--parallelism <count>", "how many resources at once (10)")
    .option("--timeout <seconds>", "after so long a job of it is stopped (3600)")
    .option("--project-name <name>", "another name that programs find it by");
}
