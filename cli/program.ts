/**
 * The command line: every command with its help. Only the module of the requested command is
 * loaded, and its code only when it runs.
 */
import { Command, Help, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { client } from "../common/settings/client.ts";
import { settingsHelp } from "../common/settings/help.ts";
import { closest } from "../common/spelling.ts";
import { version } from "../common/version.ts";

interface Entry {
  readonly name: string;
  /** The heading under which the help lists it. */
  readonly group: string;
  readonly description: string;
  /** Verbs that `load` does not load. */
  readonly verbs?: readonly string[];
  load?(): Promise<CommandUnknownOpts>;
}

/** In the order of the help. */
const entries: readonly Entry[] = [
  {
    name: "demo",
    group: "Start here",
    description: "run a control plane, a runner and a deployment on this machine, then clean up",
    load: async () => (await import("./commands/demo.ts")).demoCommand(),
  },
  {
    name: "dev",
    group: "Start here",
    description: "run a control plane and a runner on this machine until Ctrl-C",
    load: async () => (await import("./commands/dev.ts")).devCommand(),
  },
  {
    name: "login",
    group: "Start here",
    description: "sign in to a server",
    load: async () => (await import("./commands/login.ts")).loginCommand(),
  },
  {
    name: "logout",
    group: "Start here",
    description: "end this login",
    load: async () => (await import("./commands/login.ts")).logoutCommand(),
  },
  {
    name: "whoami",
    group: "Start here",
    description: "show who is signed in, and to which server",
    load: async () => (await import("./commands/login.ts")).whoamiCommand(),
  },
  {
    name: "profiles",
    group: "Start here",
    description: "the servers to which you are signed in",
    load: async () => (await import("./commands/profiles.ts")).profilesCommand(),
  },
  {
    name: "up",
    group: "Start here",
    description: "upload a directory, plan it, ask for confirmation, deploy it",
    load: async () => (await import("./commands/up.ts")).upCommand(),
  },
  {
    name: "zones",
    group: "Work",
    description: "groups of configurations",
    load: async () => (await import("./commands/zones.ts")).zonesCommand(),
  },
  {
    name: "configurations",
    group: "Work",
    description: "what to deploy: Terraform files with their variables and options",
    load: async () => (await import("./commands/configurations.ts")).configurationsCommand(),
  },
  {
    name: "variable-sets",
    group: "Work",
    description: "values that several configurations or whole zones share",
    load: async () => (await import("./commands/variable-sets.ts")).variableSetsCommand(),
  },
  {
    name: "jobs",
    group: "Work",
    description: "plans, deployments and destructions",
    load: async () => (await import("./commands/jobs.ts")).jobsCommand(),
  },
  {
    name: "state",
    group: "Work",
    description: "managed Terraform state: resources, versions, import and lock",
    load: async () => (await import("./commands/states.ts")).stateCommand(),
  },
  {
    name: "workers",
    group: "Work",
    description: "the runners that run your jobs",
    load: async () => (await import("./commands/workers.ts")).workersCommand(),
  },
  {
    name: "tokens",
    group: "Work",
    description: "registration tokens for new runners",
    load: async () => (await import("./commands/tokens.ts")).tokensCommand(),
  },
  {
    name: "access-tokens",
    group: "Work",
    description: "access tokens, with which pipelines use Windlass",
    load: async () => (await import("./commands/access-tokens.ts")).accessTokensCommand(),
  },
  {
    name: "teams",
    group: "Work",
    description: "teams, their members and invitations",
    load: async () => (await import("./commands/teams.ts")).teamsCommand(),
  },
  {
    name: "identities",
    group: "Work",
    description: "cloud identities: the roles that jobs assume in your cloud account",
    load: async () => (await import("./commands/identities.ts")).identitiesCommand(),
  },
  {
    name: "repositories",
    group: "Work",
    description: "your repositories at a code host",
    load: async () => (await import("./commands/people.ts")).repositoriesCommand(),
  },
  {
    name: "logins",
    group: "Work",
    description: "your logins, in browsers and clients",
    load: async () => (await import("./commands/people.ts")).loginsCommand(),
  },
  {
    name: "audit",
    group: "Work",
    description: "the audit log: who did what, and when",
    load: async () => (await import("./commands/people.ts")).auditCommand(),
  },
  {
    name: "completion",
    group: "Start here",
    description: "print a script that completes these commands in your shell",
    load: async () =>
      (await import("./commands/completion.ts")).completionCommand(wholeProgram, roleVerbs),
  },
  {
    name: "version",
    group: "Start here",
    description: "show the version, the package and the commit of this installation",
    load: async () => (await import("./commands/version.ts")).versionCommand(),
  },
  // main.ts at the root starts these two without loading the client; they are listed for the help.
  {
    name: "server",
    group: "Run a control plane or a runner",
    description: "run the control plane; settings come from the environment",
    verbs: [
      "login-link",
      "logins",
      "sign-out",
      "backup",
      "restore",
      "install",
      "health",
      "rotate-key",
      "migrate-store",
    ],
  },
  {
    name: "agent",
    group: "Run a control plane or a runner",
    description: "run a runner; settings come from the environment",
    verbs: ["install", "doctor", "health"],
  },
];

/** Builds the parser. It throws CommanderError, which `main` maps to an exit code. */
export async function buildProgram(words: readonly string[]): Promise<CommandUnknownOpts> {
  const program = new Command("windlass")
    .description(
      "Runs Terraform and OpenTofu for teams: a control plane, runners in your own network, a client.",
    )
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
    .helpCommand("help [command]", "print the help of a command")
    .configureHelp({
      showGlobalOptions: true,
      optionDescription: (option) =>
        `${new Help().optionDescription(option)}${option.mandatory ? " (required)" : ""}`,
    })
    .exitOverride()
    .addHelpText("after", () => `\n${settingsHelp([client])}${examples}`);
  for (const { name, group, description, load } of entries) {
    // A command that is not on the command line only needs its line in the help.
    const command = load && words.includes(name) ? await load() : new Command(name);
    program.commandsGroup(`${group}:`);
    program.addCommand(command.summary(description));
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

/**
 * Returns the deepest noun that the words begin with, such as `teams members`, and its verbs; none if
 * they begin with no noun.
 */
export async function verbsOf(
  words: readonly string[],
): Promise<{ noun: string; verbs: string[] } | undefined> {
  let noun: CommandUnknownOpts = await wholeProgram();
  let names: string[] = [];
  for (const word of words) {
    const next = noun.commands.find((one) => one.name() === word);
    if (next === undefined || next.commands.length === 0) break;
    [noun, names] = [next, [...names, word]];
  }
  if (names.length === 0) return undefined;
  return { noun: names.join(" "), verbs: noun.commands.map((verb) => verb.name()) };
}

/**
 * Returns the whole commands with this verb, such as `windlass jobs plan` for `plan`, or the ones that
 * do what terraform's verb does.
 */
export async function commandsWithVerb(word: string): Promise<string[]> {
  const same = terraformVerbs.get(word);
  if (same) return same;
  const nouns = (await wholeProgram()).commands.map((noun) => ({
    name: noun.name(),
    verbs: noun.commands.map((verb) => verb.name()),
  }));
  return [...nouns, ...entries]
    .filter(({ verbs = [] }) => verbs.includes(word))
    .map(({ name }) => `windlass ${name} ${word}`);
}

/**
 * Returns the option of the command in `words` that terraform's option `flag` is here, such as
 * `--target` for `-target=ADDRESS`, or the command that has it in place of `up`; undefined if there
 * is none.
 */
export async function optionLike(
  words: readonly string[],
  flag: string,
): Promise<string | undefined> {
  const program = await wholeProgram();
  const commandIn = (names: readonly string[]): CommandUnknownOpts =>
    names.reduce<CommandUnknownOpts>(
      (command, word) => command.commands.find((one) => one.name() === word) ?? command,
      program,
    );
  const name = flag.replace(/^-+/, "").replace(/=.*$/s, "");
  const option = name === "auto-approve" ? "--yes" : `--${name}`;
  const isOf = (command: CommandUnknownOpts): boolean =>
    command.options.some(({ long }) => long === option);
  const command = commandIn(words);
  if (isOf(command) || isOf(program)) return option;
  const isPlan = command.name() === "up" && isOf(commandIn(["jobs", "plan"]));
  return isPlan ? `windlass jobs plan ${option}` : undefined;
}

const terraformVerbs: ReadonlyMap<string, string[]> = new Map([
  ["apply", ["windlass up", "windlass jobs deploy"]],
  ["output", ["windlass configurations show"]],
  ["import", ["windlass state push"]],
  ["taint", ["windlass jobs plan --replace"]],
  ["refresh", ["windlass jobs plan --refresh-only"]],
  ["validate", ["windlass jobs plan"]],
  ["force-unlock", ["windlass state unlock"]],
]);

const examples = `
Examples:
  windlass demo             see a plan and a deployment run on this machine
  windlass dev              keep a control plane and a runner on this machine
  windlass up               deploy the Terraform files of this directory
  windlass server           run the control plane on http://127.0.0.1:8080
  windlass server login-link --email you@example.com
                            print a one-time sign-in link
  windlass server backup /var/backups/windlass.tar.gz
                            write all of the server's data to one file
`;
