/** Builds docs/cli.md: what all commands have in common, then the help of each. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { buildProgram, wholeProgram } from "../../cli/program.ts";

type Command = Awaited<ReturnType<typeof wholeProgram>>;

const intro = `# The command line

Generated from the help of the commands by \`npm run cli-docs\`. A test fails when this page is out of date.

Commands have the form \`windlass <noun> <verb> [name]\`: nouns are plural, and the verbs are the same everywhere. For a misspelt word, the client suggests the
nearest one.

## Names and ids

A command accepts the name of an object, its id, or the beginning of its id: at least 4 characters, with or without the hyphens. (Only \`audit list --target\` needs the whole id.) If
several ids have this beginning, or several workers have this name, the command lists them and does nothing. On a terminal, lists print the first 13 characters of an id, which are the
time at which it was made, in milliseconds; ids that were made in the same millisecond are printed whole. A pipe always gets whole ids.

In place of a job, \`NAME/-\` is the latest job of the configuration NAME, and \`-\` that of the configuration that \`windlass up\` created from the current directory,
in the current space or, without \`--team\`, in another one of yours.
With \`jobs deploy --plan\`, it is the latest plan: \`windlass jobs deploy network --plan -\`.

## In scripts

- **stdout is data**, and nothing else. Explanations, questions and warnings go to stderr. A log is data too, but with both \`--wait\` and \`--json\` it goes to
  stderr, because stdout then has the job.
- **\`--json\`** prints what the server returns, with the fields of the HTTP API ([openapi.json](openapi.json)). Fields are added and
  never renamed. A list is one array, even if the server returned several pages. \`jobs logs --json\` prints one chunk per line. With \`--wait\`, the output
  is the job after its end; \`up\` prints its last job.
- **Exit codes**: 0 success; 1 failure; 2 wrong usage, or a question that could not be asked; 3 a plan that was not confirmed; 78 an invalid setting; 130 Ctrl-C.
  With \`--wait\`, and for \`jobs logs --follow\` and \`up\`, the exit code is 0 only if the job succeeded, else 1. Two commands differ: \`jobs cancel --wait\` ends
  with 0, and \`jobs plan --detailed-exitcode\` with 0 if the plan has no changes, 2 if it has changes, 1 if it failed, and 64 on wrong usage.
- **Ctrl-C** while a command follows a job: on a terminal, the client asks whether to leave the job running or to cancel it. Otherwise it leaves the job running,
  prints how to continue, and ends with 130.
- **Questions** are asked only on a terminal. \`--yes\` answers them in advance, except the one that \`up\` asks before it uses a configuration of another
  directory: for that, pass \`--adopt\`.
- **Colours** are used only on a terminal, and never if \`NO_COLOR\` is set.
- **Secrets** are read from stdin or asked for without echo, never taken from arguments. In a pipeline, set \`WINDLASS_URL\` and \`WINDLASS_TOKEN\` (or
  \`WINDLASS_TOKEN_FILE\`) instead of signing in.

## Completion

\`\`\`sh
source <(windlass completion bash)         # in ~/.bashrc
source <(windlass completion zsh)          # in ~/.zshrc, after compinit
windlass completion fish | source          # in ~/.config/fish/config.fish
\`\`\`

The names of configurations, zones, workers and cloud identities are completed too, and the ids of the latest jobs. The shell asks the server for them at the first Tab and
remembers them for 30 seconds.
`;

/** The whole document. */
export async function cliDocument(): Promise<string> {
  // Its own help is printed before any command is loaded.
  const own = chapter("windlass", 3, helpOf(await buildProgram([])));
  const [, ...below] = chapters(await wholeProgram(), "windlass", 3);
  const all = [own, ...below, ...(await Promise.all(roles.map(roleChapter)))];
  return `${intro}\n## Commands\n\n${all.join("\n")}`;
}

/** The commands that are not the client's. Each prints its own help. */
const roles = [
  "server",
  "server install",
  "server login-link",
  "server logins",
  "server sign-out",
  "server backup",
  "server restore",
  "server rotate-key",
  "server migrate-store",
  "agent",
  "agent install",
  "agent doctor",
  "agent health",
];

async function roleChapter(words: string): Promise<string> {
  const bin = join(import.meta.dirname, "../../bin/windlass");
  const { stdout } = await promisify(execFile)(bin, [...words.split(" "), "--help"]);
  return chapter(`windlass ${words}`, 3 + words.split(" ").length, stdout);
}

const chapter = (title: string, depth: number, help: string): string =>
  `${"#".repeat(Math.min(depth, 5))} ${title}\n\n\`\`\`text\n${help.trim().replaceAll(/\n{3,}/g, "\n\n")}\n\`\`\`\n`;

function chapters(command: Command, title: string, depth: number): string[] {
  const help = helpOf(command).replace(
    /\n(Global Options:\n[\s\S]*?)(?=\n\n|$)/,
    depth > 3 ? "" : "\n$1",
  );
  const own = chapter(title, depth, help);
  return [
    own,
    ...command.commands
      .filter((one) => !(depth === 3 && roles.includes(one.name())))
      .flatMap((one) => chapters(one, `${title} ${one.name()}`, depth + 1)),
  ];
}

function helpOf(command: Command): string {
  let written = "";
  command.configureOutput({
    writeOut: (text) => {
      written += text;
    },
    getOutHelpWidth: () => 80,
    getOutHasColors: () => false,
  });
  command.outputHelp();
  return written;
}
