/** Every command with its help. Only the module of the requested one is loaded. */
import { Command, Help, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { client } from "../common/settings/client.ts";
import { settingsHelp } from "../common/settings/help.ts";
import { closest } from "../common/spelling.ts";
import { version } from "../common/version.ts";
import { styled } from "./terminal/output.ts";

interface Entry {
  readonly name: string;
  readonly description: string;
  /** Left out of the brief help, which has one screen. */
  readonly isRare?: true;
  /** Verbs that `load` does not load. */
  readonly verbs?: readonly string[];
  load?(): Promise<CommandUnknownOpts>;
}

/** By the headings of the help, in its order. */
const groups: Readonly<Record<string, readonly Entry[]>> = {
  Start: [
    {
      name: "up",
      description: "upload a directory, plan it, ask, deploy it",
      load: async () => (await import("./commands/up.ts")).upCommand(),
    },
    {
      name: "demo",
      description: "run everything on this machine once, then clean up",
      load: async () => (await import("./commands/demo.ts")).demoCommand(),
    },
    {
      name: "dev",
      description: "run a control plane and a runner until Ctrl-C",
      load: async () => (await import("./commands/dev.ts")).devCommand(),
    },
    {
      name: "login",
      description: "sign in to a server",
      load: async () => (await import("./commands/login.ts")).loginCommand(),
    },
  ],
  Deploy: [
    {
      name: "configurations",
      description: "what to deploy: Terraform files, variables, options",
      load: async () => (await import("./commands/configurations.ts")).configurationsCommand(),
    },
    {
      name: "variable-sets",
      description: "values that configurations or whole zones share",
      load: async () => (await import("./commands/variable-sets.ts")).variableSetsCommand(),
    },
    {
      name: "zones",
      description: "groups of configurations",
      load: async () => (await import("./commands/zones.ts")).zonesCommand(),
    },
    {
      name: "connections",
      description: "code hosts whose branches configurations follow",
      load: async () => (await import("./commands/connections.ts")).connectionsCommand(),
    },
    {
      name: "pull-requests",
      description: "pull requests onto followed branches, with their plans",
      load: async () => (await import("./commands/pull-requests.ts")).pullRequestsCommand(),
    },
    {
      name: "notifications",
      description: "events by webhook, Slack, Teams or e-mail",
      load: async () => (await import("./commands/notifications.ts")).notificationsCommand(),
    },
    {
      name: "jobs",
      description: "plans, deployments and destructions",
      load: async () => (await import("./commands/jobs.ts")).jobsCommand(),
    },
    {
      name: "drift",
      description: "what differs from what was deployed",
      load: async () => (await import("./commands/drift.ts")).driftCommand(),
    },
    {
      name: "schedules",
      description: "drift checks, plans, deployments, destructions by the clock",
      load: async () => (await import("./commands/schedules.ts")).schedulesCommand(),
    },
    {
      name: "state",
      description: "managed state: resources, versions, import and lock",
      load: async () => (await import("./commands/states.ts")).stateCommand(),
    },
  ],
  "Control plane and runners": [
    {
      name: "workers",
      description: "the runners that run your jobs",
      load: async () => (await import("./commands/workers.ts")).workersCommand(),
    },
    {
      name: "tokens",
      description: "registration tokens for new runners",
      load: async () => (await import("./commands/tokens.ts")).tokensCommand(),
    },
    // main.ts at the root starts these two without loading the client; they are listed for the help.
    {
      name: "server",
      description: "run the control plane; settings come from the environment",
      verbs: [
        "login-link",
        "logins",
        "sign-out",
        "issuer",
        "teams",
        "backup",
        "restore",
        "install",
        "doctor",
        "health",
        "rotate-key",
        "migrate-store",
      ],
    },
    {
      name: "agent",
      description: "run a runner; settings come from the environment",
      verbs: ["install", "doctor", "health"],
    },
  ],
  "Teams, access and this client": [
    {
      name: "teams",
      description: "teams, their members and invitations",
      load: async () => (await import("./commands/teams.ts")).teamsCommand(),
    },
    {
      name: "access-tokens",
      description: "tokens with which pipelines use Windlass",
      load: async () => (await import("./commands/access-tokens.ts")).accessTokensCommand(),
    },
    {
      name: "identities",
      description: "the roles that jobs assume in your cloud account",
      load: async () => (await import("./commands/identities.ts")).identitiesCommand(),
    },
    {
      name: "repositories",
      description: "your repositories at a code host",
      load: async () => (await import("./commands/people.ts")).repositoriesCommand(),
    },
    {
      name: "audit",
      description: "who did what, and when",
      load: async () => (await import("./commands/people.ts")).auditCommand(),
    },
    {
      name: "whoami",
      description: "show who is signed in, and to which server",
      load: async () => (await import("./commands/login.ts")).whoamiCommand(),
    },
    {
      name: "logins",
      description: "your logins, in browsers and clients",
      load: async () => (await import("./commands/people.ts")).loginsCommand(),
    },
    {
      name: "profiles",
      description: "the servers to which you are signed in",
      load: async () => (await import("./commands/profiles.ts")).profilesCommand(),
    },
    {
      name: "logout",
      description: "end this login",
      load: async () => (await import("./commands/login.ts")).logoutCommand(),
    },
    {
      name: "completion",
      description: "print a script that completes commands in your shell",
      load: async () =>
        (await import("./commands/completion.ts")).completionCommand(wholeProgram, roleVerbs),
    },
    {
      name: "version",
      isRare: true,
      description: "show the version, the package and the commit",
      load: async () => (await import("./commands/version.ts")).versionCommand(),
    },
  ],
};

export const entries = Object.values(groups).flat();
const rare = new Set(entries.filter(({ isRare }) => isRare).map(({ name }) => name));

/** Builds the parser. It throws CommanderError, which `main` maps to an exit code. */
export async function buildProgram(words: readonly string[]): Promise<CommandUnknownOpts> {
  const isBrief = words.length === 0 || words[0] === "help";
  const program = new Command("windlass")
    .description("Terraform and OpenTofu for teams: a control plane, runners in your own network.")
    .on("option:version", () => refuseCommandWithVersion(program, words))
    .version(version(), "-V, --version", "print the version of windlass; takes no command")
    .option("--server <url>", "the server (default: WINDLASS_URL, then the current profile's)")
    .option("--profile <name>", "the profile to use; see windlass profiles")
    .option(
      "--team <team>",
      'the team to act in; "" for your personal space (default: WINDLASS_TEAM, then the profile\'s)',
    )
    .option(
      "--json",
      "print the server's response as JSON; a list is one array, a log one object for each line",
    )
    .helpOption("-h, --help", "print this help")
    .usage("<command> [options]")
    .configureHelp({
      showGlobalOptions: true,
      styleTitle: (title) => styled("bold", title),
      // Every noun has `help`.
      visibleCommands: (command) =>
        new Help()
          .visibleCommands(command)
          .filter((one) => one.name() !== "help")
          .filter((one) => !isBrief || command.parent !== null || !rare.has(one.name())),
      visibleOptions: (command) =>
        isBrief && command.parent === null ? [] : new Help().visibleOptions(command),
      optionDescription: (option) =>
        `${new Help().optionDescription(option)}${option.mandatory ? " (required)" : ""}`,
    })
    .exitOverride()
    .addHelpText("after", () => (isBrief ? briefEnd : `\n${settingsHelp([client])}${examples}`));
  for (const [group, list] of Object.entries(groups)) {
    program.commandsGroup(`${group}:`);
    for (const { name, description, load } of list) {
      // A command that is not on the command line only needs its line in the help.
      const command = load && words.includes(name) ? await load() : new Command(name);
      program.addCommand(command.summary(description));
    }
  }
  applySharedSettings(program);
  return program;
}

/** Builds the parser with every command loaded, for the documentation and for completion. */
export const wholeProgram = (): Promise<CommandUnknownOpts> =>
  buildProgram(entries.map(({ name }) => name));

/** The verbs of the commands that main.ts at the root starts. */
const roleVerbs = (): ReadonlyMap<string, readonly string[]> =>
  new Map(entries.flatMap(({ name, verbs }) => (verbs ? [[name, verbs]] : [])));

/** Gives a command's nouns and verbs its error handling and a pointer to their help. */
function applySharedSettings(command: CommandUnknownOpts, path = command.name()): void {
  command.showHelpAfterError(`For help: ${path} --help`);
  command.on("beforeHelp", () => refuseUnknownVerb(command));
  for (const below of command.commands) {
    below.copyInheritedSettings(command);
    applySharedSettings(below, `${path} ${below.name()}`);
  }
}

/** Commander would print the version for `state rollback network --version 7`, and succeed. */
function refuseCommandWithVersion(program: CommandUnknownOpts, [first]: readonly string[]): void {
  if (!first?.startsWith("-"))
    program.error("error: --version prints the version of windlass and takes no command", {
      code: "commander.unknownOption",
    });
}

/** With `help` and --help, commander prints the help of a noun for any word after it. */
function refuseUnknownVerb(command: CommandUnknownOpts): void {
  const [first, second] = command.args;
  const word = first === "help" ? second : first;
  if (command.commands.length === 0 || word === undefined || word.startsWith("-")) return;
  const names = command.commands.map((verb) => verb.name());
  if (word === "help" || names.includes(word)) return;
  const meant = closest(word, names);
  const suggestion = meant === undefined ? "" : `\n(Did you mean ${meant}?)`;
  command.error(`error: unknown command '${word}'${suggestion}`, {
    code: "commander.unknownCommand",
  });
}

const briefEnd = `Each has a help: windlass help up. Options and settings of all: windlass --help
`;

const examples = `
${styled("bold", "Examples:")}
  windlass demo             see a plan and a deployment run on this machine
  windlass dev              keep a control plane and a runner on this machine
  windlass up               deploy the Terraform files of this directory
  windlass server           run the control plane on http://127.0.0.1:8080
  windlass server login-link --email you@example.com
                            print a one-time sign-in link
  windlass server backup /var/backups/windlass.tar.gz
                            write all of the server's data to one file
`;
