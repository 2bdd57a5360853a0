/** docs/cli.md: what every command has in common, then the help of each. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { wholeProgram } from "../../cli/program.ts";

type Command = Awaited<ReturnType<typeof wholeProgram>>;

const intro = `# The command line

Made from the commands' own help by \`npm run cli-docs\`; a test says when it is due.

\`windlass <noun> <verb> [name]\`: nouns in the plural, the same verbs everywhere. Things are named by name or id. A misspelt word is
answered with the one that was probably meant.

## For programs

- **stdout is data**, and nothing else; what explains, asks or warns is on stderr. A log is data, except under \`--json\` with \`--wait\`,
  where it goes to stderr.
- **\`--json\`** prints what the server answers, field by field as in the HTTP interface ([openapi.json](openapi.json)); fields are added,
  never renamed. A list is one array, however many pages it came in. A log (\`jobs logs --json\`) is one chunk a line. With \`--wait\` it
  is the one job as it ended; \`up\` prints its last job.
- **Exit codes**: 0 done, 1 failed, 2 wrong usage (also: a question that nobody is there to answer), 78 a bad setting, 130 Ctrl-C. With
  \`--wait\`, \`jobs logs --follow\` and \`up\` it is the job's: 0 only for SUCCESS. \`jobs cancel --wait\` is 0 when the job is over.
- **Ctrl-C** while a job is followed asks on a terminal whether to leave it running or to cancel it; in a pipe it leaves it running,
  says how to go on, and ends with 130.
- **Questions** are asked on a terminal only; \`--yes\` answers them.
- **Colours** are for terminals, and never where \`NO_COLOR\` is set.
- **Secrets** are read from stdin or asked for without echo, never taken from arguments. \`WINDLASS_TOKEN\` (or \`WINDLASS_TOKEN_FILE\`) with
  \`WINDLASS_URL\` takes the place of a sign-in.

## Completion

\`\`\`sh
source <(windlass completion bash)         # in ~/.bashrc
source <(windlass completion zsh)          # in ~/.zshrc, after compinit
windlass completion fish | source          # in ~/.config/fish/config.fish
\`\`\`
`;

/** The whole document. */
export async function cliDocument(): Promise<string> {
  const program = await wholeProgram();
  const all = [...chapters(program, "windlass", 3), ...(await Promise.all(roles.map(roleChapter)))];
  return `${intro}\n## Commands\n\n${all.join("\n")}`;
}

/** What is no command of the client: each says itself what it can do. */
const roles = [
  "server",
  "server login-link",
  "server backup",
  "server restore",
  "agent",
  "agent install",
  "agent doctor",
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
