/** The command line as a whole: every command with its help. Only the command that was asked for is loaded, and its work when it runs. */
import { Command, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { client } from "../common/settings/client.ts";
import { settingsHelp } from "../common/settings/help.ts";
import { version } from "../common/version.ts";

interface Entry {
  readonly name: string;
  /** Under which heading the help lists it. */
  readonly group: string;
  readonly description: string;
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
    name: "login",
    group: "Start here",
    description: "sign in at a server",
    load: async () => (await import("./commands/login.ts")).loginCommand(),
  },
  {
    name: "logout",
    group: "Start here",
    description: "end this sign-in",
    load: async () => (await import("./commands/login.ts")).logoutCommand(),
  },
  {
    name: "whoami",
    group: "Start here",
    description: "show who you are, and at which server",
    load: async () => (await import("./commands/login.ts")).whoamiCommand(),
  },
  {
    name: "profiles",
    group: "Start here",
    description: "the servers at which you are signed in",
    load: async () => (await import("./commands/profiles.ts")).profilesCommand(),
  },
  {
    name: "up",
    group: "Start here",
    description: "upload a directory, plan it, ask, deploy it",
    load: async () => (await import("./commands/up.ts")).upCommand(),
  },
  {
    name: "zones",
    group: "Work",
    description: "places where configurations live",
    load: async () => (await import("./commands/zones.ts")).zonesCommand(),
  },
  {
    name: "configurations",
    group: "Work",
    description: "terraform directories with their zone and values",
    load: async () => (await import("./commands/configurations.ts")).configurationsCommand(),
  },
  {
    name: "jobs",
    group: "Work",
    description: "what is queued, runs and has run",
    load: async () => (await import("./commands/jobs.ts")).jobsCommand(),
  },
  {
    name: "state",
    group: "Work",
    description: "the terraform state that is kept here: versions and lock",
    load: async () => (await import("./commands/states.ts")).stateCommand(),
  },
  {
    name: "workers",
    group: "Work",
    description: "the runners that do the work",
    load: async () => (await import("./commands/workers.ts")).workersCommand(),
  },
  {
    name: "tokens",
    group: "Work",
    description: "registration tokens for runners",
    load: async () => (await import("./commands/workers.ts")).tokensCommand(),
  },
  {
    name: "identities",
    group: "Work",
    description: "the roles that jobs take on in your cloud account",
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
    description: "where you are signed in",
    load: async () => (await import("./commands/people.ts")).loginsCommand(),
  },
  {
    name: "audit",
    group: "Work",
    description: "who did what to your things",
    load: async () => (await import("./commands/people.ts")).auditCommand(),
  },
  {
    name: "completion",
    group: "Start here",
    description: "print what lets a shell complete these commands",
    load: async () => (await import("./commands/completion.ts")).completionCommand(wholeProgram),
  },
  // main.ts at the root starts these two before the client is loaded; here they are listed.
  {
    name: "server",
    group: "Run it",
    description: "run the control plane; settings come from the environment",
  },
  {
    name: "agent",
    group: "Run it",
    description: "run a runner daemon; settings come from the environment",
  },
];

/** Builds the parser for a command line. Errors are thrown as CommanderError, so that `main` maps them to exit codes. */
export async function buildProgram(words: readonly string[]): Promise<CommandUnknownOpts> {
  const program = new Command("windlass")
    .description(
      "Runs Terraform and OpenTofu for teams: a control plane, runners in your own network, a client.",
    )
    .version(version(), "-V, --version", "print the version")
    .option("--server <url>", "the server to talk to (WINDLASS_URL, else the current profile's)")
    .option("--profile <name>", "the sign-in to use, see windlass profiles")
    .option("--json", "print what the server answers, for programs; lists are one array")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [command]", "print the help of a command")
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    .addHelpText("after", () => `\n${settingsHelp([client])}${examples}`);
  for (const { name, group, description, load } of entries) {
    // A command that no word names cannot be what was meant; its line in the help is enough.
    const command = load && words.includes(name) ? await load() : new Command(name);
    program.commandsGroup(`${group}:`);
    program.addCommand(command.summary(description));
  }
  inheriting(program);
  return program;
}

/** The parser with every command loaded: for the documentation and for completion. */
export const wholeProgram = (): Promise<CommandUnknownOpts> =>
  buildProgram(entries.map(({ name }) => name));

/** What a command's nouns and verbs have from it: how errors are thrown, and where they say that help is. */
function inheriting(command: CommandUnknownOpts, path = command.name()): void {
  command.showHelpAfterError(`What there is: ${path} --help`);
  for (const below of command.commands) {
    below.copyInheritedSettings(command);
    inheriting(below, `${path} ${below.name()}`);
  }
}

/** Whole commands that end in a word which somebody took for a command, such as `jobs plan` for `plan`. */
export async function commandsEndingIn(word: string): Promise<string[]> {
  const nouns = (await wholeProgram()).commands;
  return nouns
    .filter((noun) => noun.commands.some((verb) => verb.name() === word))
    .map((noun) => `windlass ${noun.name()} ${word}`);
}

const examples = `
Examples:
  windlass demo             see a plan and a deployment run on this machine
  windlass up               deploy the terraform of this directory
  windlass server           run the control plane on http://127.0.0.1:8080
  windlass server login-link --email you@example.com
                            print a link that signs you in once
  windlass server backup /var/backups/windlass.tar.gz
                            write everything the server keeps to one file
`;
