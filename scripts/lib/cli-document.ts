/** The page of all commands: the help of each. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { buildProgram, wholeProgram } from "../../cli/program.ts";

type Command = Awaited<ReturnType<typeof wholeProgram>>;

export async function cliDocument(): Promise<string> {
  // Its own help is printed before any command is loaded.
  const own = chapter("windlass", 2, helpOf(await buildProgram(["--help"])));
  const [, ...below] = chapters(await wholeProgram(), "windlass", 2);
  const all = [own, ...below, ...(await Promise.all(roles.map(roleChapter)))];
  return `# Commands\n\n${all.join("\n")}`;
}

/** The commands that are not the client's. Each prints its own help. */
const roles = [
  "server",
  "server install",
  "server doctor",
  "server login-link",
  "server logins",
  "server sign-out",
  "server issuer",
  "server teams",
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
  return chapter(`windlass ${words}`, 2 + words.split(" ").length, stdout);
}

const chapter = (title: string, depth: number, help: string): string =>
  `${"#".repeat(depth)} ${title}\n\n\`\`\`text\n${help.trim().replaceAll(/\n{3,}/g, "\n\n")}\n\`\`\`\n`;

function chapters(command: Command, title: string, depth: number): string[] {
  const help = helpOf(command).replace(
    /\n(Global Options:\n[\s\S]*?)(?=\n\n|$)/,
    depth > 2 ? "" : "\n$1",
  );
  const own = chapter(title, depth, help);
  return [
    own,
    ...command.commands
      .filter((one) => !(depth === 2 && roles.includes(one.name())))
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
