/** `windlass configurations`: what to deploy, in which zone and with which values. */
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import type { ChangeOptions } from "../configurations/changes.ts";
import type { DeleteOptions } from "../configurations/verbs.ts";
import type { FollowOptions } from "../configurations/follow.ts";
import {
  comingTimeHelp,
  configurationHelp,
  examples,
  noun,
  oneOf,
  repeated,
  yes,
  verbExamples,
} from "../noun.ts";
import { action, type Run } from "../run.ts";
import { approvalOptions, fieldOptions, unsetFieldOptions } from "./value-options.ts";

const verbs = () => import("../configurations/verbs.ts");

interface ListWords {
  readonly zone?: string | undefined;
  readonly drift?: "in-sync" | "drifted" | "failed" | "unchecked" | undefined;
}

export function configurationsCommand() {
  const configurations = noun(
    "configurations",
    "what to deploy: Terraform files with their variables and options",
  );
  configurations
    .command("list")
    .description("list your configurations")
    .option("--zone <name>", "only those in this zone: its name or id")
    .addOption(
      oneOf("--drift <status>", "only those with this result of their last drift check", [
        "in-sync",
        "drifted",
        "failed",
        "unchecked",
      ]),
    )
    .action(
      action(async (run: Run, { zone, drift }: ListWords) =>
        (await verbs()).list(run, { zone, drift: drift === "in-sync" ? "in_sync" : drift }),
      ),
    );
  configurations
    .command("show")
    .description("show a configuration, its variables, and its outputs")
    .argument("<name>", configurationHelp)
    .action(action(async (run: Run, name: string) => (await verbs()).show(run, name)));
  const create = configurations
    .command("create")
    .description("create a configuration from a directory, a git repository or a file")
    .argument(
      "[name]",
      "1 to 100 characters (default: the name in --file, or that of the directory)",
    );
  addFields(create, "name or id of its zone; not needed if you have exactly one zone");
  create.action(
    action(async (run: Run, name: string | undefined, options: ChangeOptions) =>
      (await verbs()).create(run, name, options),
    ),
  );
  examples(create, [
    ["windlass configurations create --dir ./network", "named after the directory"],
    ["windlass configurations create db --dir db --sensitive password", "prompts for the value"],
    [
      "windlass configurations create dns --git https://example.com/dns.git --ref v2",
      "fetched by the runner",
    ],
    ["windlass configurations create --file network.json", "with the fields of the API"],
  ]);
  const update = configurations
    .command("update")
    .description("change the fields that the options name; earlier plans become stale")
    .argument("<name>", configurationHelp);
  addFields(update, "name or id of the zone to move it to");
  update.option("--rename <name>", "the new name");
  for (const option of unsetFieldOptions()) update.addOption(option);
  update.action(
    action(async (run: Run, name: string, options: ChangeOptions) =>
      (await verbs()).update(run, name, options),
    ),
  );
  examples(update, [
    ["windlass configurations update network --dir ./network", "upload the directory again"],
    [
      "windlass configurations update db --sensitive password < new-password",
      "read the value from a file",
    ],
    ["windlass configurations update db --unset size --unset-env HELM_DRIVER", "remove values"],
    [
      "windlass configurations update db --approvals 2 --approvals-for destructive",
      "let two people approve before anything is deleted",
    ],
    ["windlass configurations update preview-42 --expires-at 7d", "destroyed in a week"],
  ]);
  const follow = configurations
    .command("follow")
    .description(
      "follow a branch of a code host: plan its pull requests and what is pushed; options change parts",
    )
    .argument("<name>", configurationHelp);
  addFollow(follow);
  follow.action(
    action(async (run: Run, name: string, options: FollowOptions) =>
      (await import("../configurations/follow.ts")).follow(run, name, options),
    ),
  );
  examples(follow, [
    ["windlass configurations follow network --connection hub", "plan what is pushed"],
    ["windlass configurations follow network --push deploy", "deploy what is merged"],
    ["windlass configurations follow network --end", "only people start jobs again"],
  ]);
  examples(
    configurations
      .command("delete")
      .description("delete a configuration that has nothing deployed, and its state")
      .argument("<name>", configurationHelp)
      .option(
        "--keep-resources <file>",
        "delete it without destroying what it has deployed; the file has its newest state",
      )
      .addOption(yes())
      .action(
        action(async (run: Run, name: string, options: DeleteOptions) =>
          (await verbs()).remove(run, name, options),
        ),
      ),
    [
      ["windlass configurations delete preview-42 --yes", "in a pipeline"],
      ["windlass state pull network > terraform.tfstate", "save the state"],
      [
        "windlass configurations delete network --keep-resources terraform.tfstate",
        "then use terraform without Windlass",
      ],
    ],
  );
  verbExamples(configurations, {
    list: ["--json", "for scripts"],
    show: ["network", "with its outputs"],
  });
  return examples(configurations, [
    ["windlass configurations create network --dir ./network --zone production", "create one"],
    ["windlass configurations show network", "with its variables and outputs"],
  ]);
}

function addFollow(follow: CommandUnknownOpts): void {
  follow
    .option("--connection <name>", "name or id of the connection; not needed if there is one")
    .option("--branch <branch>", "the branch (default: the host's default branch)")
    .option("--git <url>", "the repository, in place of the configuration's source")
    .option("--path <path>", 'directory in the repository; "" for its root')
    .addOption(
      repeated(
        "--trigger-path <pattern>",
        'files whose change starts a plan too, such as modules/**; repeatable; replaces the earlier list; "" empties it',
      ),
    )
    .addOption(oneOf("--pull-requests <what>", "what a pull request starts", ["plan", "off"]))
    .addOption(oneOf("--push <what>", "what a push starts", ["plan", "deploy", "off"]))
    .addOption(
      oneOf("--comment <when>", "when a pull request gets a comment: changes (or failures)", [
        "changes",
        "always",
        "off",
      ]),
    )
    .addOption(
      oneOf("--forks <when>", "whether forks are planned, after an approval; needs admin", [
        "off",
        "approved",
      ]),
    )
    .addOption(
      oneOf(
        "--values <which>",
        "the values that plans of pull requests get: plain are those that are not sensitive; all needs admin",
        ["none", "plain", "all"],
      ),
    )
    .option("--commands", "let comments start jobs; needs admin")
    .option("--no-commands", "do not let comments start jobs, which is the default")
    .option("--end", "follow no branch any more");
}

function addFields(command: CommandUnknownOpts, zone: string): void {
  command
    .option("--zone <name>", zone)
    .option(
      "--dir <directory>",
      "pack and upload this directory; .gitignore and .windlassignore apply",
    )
    .option("--git <url>", "a git repository that the runner can read")
    .option("--ref <ref>", 'branch, tag or commit of the repository; "" for its default branch')
    .option("--path <path>", 'directory in the repository; "" for its root')
    .option("--submodules", "fetch the submodules of the repository too")
    .option("--no-submodules", "do not fetch submodules, which is the default")
    .option("--file <file>", "a JSON file with the fields of the API; options override it");
  for (const option of [...fieldOptions(), ...approvalOptions()]) command.addOption(option);
  command.option(
    "--expires-at <time>",
    `when to destroy what is deployed, ${comingTimeHelp}; none: never`,
  );
}
