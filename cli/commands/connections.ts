/** `windlass connections`: code hosts whose branches configurations follow. */
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { counted, examples, noun, oneOf, verbExamples, yes } from "../noun.ts";
import { action, type Run } from "../run.ts";
import type { CreateOptions, UpdateOptions } from "../connections/verbs.ts";

const verbs = () => import("../connections/verbs.ts");

export function connectionsCommand() {
  const connections = noun(
    "connections",
    "code hosts: configurations follow their branches, and pull requests show plans",
  );
  const named = (name: string, description: string) =>
    connections
      .command(name)
      .description(description)
      .argument("<name>", "name or id of the connection");
  connections
    .command("list")
    .description("list your connections, and what is wrong with them")
    .action(
      action(async (run: Run) => {
        const { list, listAll } = await verbs();
        list(run, await listAll(run.api));
      }),
    );
  named("show", "show a connection; its credential is never shown").action(
    action(async (run: Run, name: string) => {
      const { connectionOf, show } = await verbs();
      show(run, await connectionOf(run, name));
    }),
  );
  const create = connections
    .command("create")
    .description(
      "connect a code host; the token is asked for without echo, or read from stdin. Prints the secret of the webhooks once",
    )
    .argument("<name>", "1 to 100 characters")
    .addOption(
      oneOf("--kind <kind>", "what the host is; forgejo is also Gitea", [
        "github-app",
        "github",
        "gitlab",
        "bitbucket",
        "forgejo",
      ]).makeOptionMandatory(),
    )
    .option("--base-url <url>", "the address of a self-managed host, which forgejo always is");
  addFields(create);
  create.action(
    action(async (run: Run, name: string, options: CreateOptions) =>
      (await verbs()).create(run, name, options),
    ),
  );
  examples(create, [
    ["windlass connections create hub --kind github", "asks for the token"],
    ["windlass connections create lab --kind gitlab < token", "with the token from a file"],
    [
      "windlass connections create git --kind forgejo --base-url https://git.example",
      "a host of your own",
    ],
    ["windlass connections create app --kind github-app", "says how to make the App"],
  ]);
  const update = named("update", "change a connection; its kind and its host stay").option(
    "--credential",
    "replace the token: asked for without echo, or a line of stdin",
  );
  addFields(update);
  update
    .option("--no-clone-credential", "let runners clone with the token of the connection")
    .option("--rename <name>", "the new name")
    .action(
      action(async (run: Run, name: string, options: UpdateOptions) =>
        (await verbs()).update(run, name, options),
      ),
    );
  named("delete", "delete a connection through which no configuration follows a branch")
    .addOption(yes())
    .action(
      action(async (run: Run, name: string, options: { yes?: true | undefined }) =>
        (await verbs()).remove(run, name, options),
      ),
    );
  named("check", "ask the host what the credential may do, and what each permission is for").action(
    action(async (run: Run, name: string) => (await verbs()).check(run, name)),
  );
  named("rotate-secret", "make a new secret for the webhooks, and print it once")
    .addOption(
      counted(
        "--overlap <seconds>",
        "how long the old secret is accepted too, up to 7 days",
        "3600",
      ),
    )
    .action(
      action(async (run: Run, name: string, options: { overlap: string }) =>
        (await verbs()).rotateSecret(run, name, options),
      ),
    );
  named("add-webhook", "let the host send the events of a repository, if the credential may")
    .argument("<repository>", "its full name, such as platform/network")
    .action(
      action(async (run: Run, name: string, repository: string) =>
        (await verbs()).addWebhook(run, name, repository),
      ),
    );
  named("repositories", "list the repositories that a connection reaches").action(
    action(async (run: Run, name: string) => (await verbs()).repositories(run, name)),
  );
  verbExamples(connections, {
    list: ["", "which ones there are, and what is wrong"],
    show: ["hub", "with the address for its webhooks"],
    update: ["hub --credential < token", "replace the token"],
    delete: ["hub", "asks for confirmation"],
    check: ["hub", "which permissions are missing"],
    "rotate-secret": ["hub --overlap 600", "ten minutes to change it at the host"],
    "add-webhook": ["hub platform/network", "if following could not add it"],
    repositories: ["hub --json", "for scripts"],
  });
  return examples(connections, [
    ["windlass connections create hub --kind github", "asks for the token"],
    ["windlass connections check hub", "which permissions are missing"],
    ["windlass configurations follow network --connection hub", "plan what is pushed"],
  ]);
}

function addFields(command: CommandUnknownOpts): void {
  command
    .option("--api-url <url>", 'where the API is, if not at the usual place; "" for that')
    .option("--app-id <id>", "github-app: the id of the App")
    .option("--private-key <file>", "github-app: the App's private key in PEM; - for stdin")
    .option("--installation-id <id>", "github-app: the id of the installation, in its address")
    .option(
      "--clone-credential",
      "a token with which runners clone, and nothing else: asked for, or a line of stdin",
    )
    .option(
      "--status-name <name>",
      "begins the statuses at the host (default: windlass); two servers need different ones",
    )
    .option("--poll <seconds>", "how often to look at the host without an event (default: 300)");
}
