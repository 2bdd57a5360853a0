/** Entry of the client: finds the command and loads only its code. */
import type { CommanderError } from "commander";
import { ConfigError } from "../common/settings/config-error.ts";
import { fileFailure } from "../common/file-errors.ts";
import { CliError, errorLine, print, say, onOutputClosed } from "./terminal/output.ts";
import { version } from "../common/version.ts";

/** Exit codes: 0 success, 1 failure, 2 usage, 3 a plan that was not confirmed, 78 settings. */
export async function main(words: readonly string[]): Promise<void> {
  onOutputClosed((error) => process.exit(exitCodeOf(error)));
  // Scripts and shell prompts ask for the version. Print it before loading the parser, which
  // takes as long as the start of Node itself.
  if (words.length === 1 && (words[0] === "--version" || words[0] === "-V"))
    return print(version());
  // Commander's `help` reads one word, which it does not check: `help jobs list` would print the help
  // of `jobs`, and `help nosuch` that of the program.
  const isHelp = words[0] === "help" && words.length > 1;
  const command = isHelp ? [...words.slice(1), "--help"] : words;
  try {
    const program = await (await import("./program.ts")).buildProgram(command);
    if (command.length === 0) program.outputHelp();
    else await program.parseAsync(command, { from: "user" });
  } catch (error) {
    const code = exitCodeOf(error);
    const isUsage = code === wrongUsage && words.includes(detailedExitCode);
    const has = isUsage && (await optionIn(words, detailedExitCode)) === detailedExitCode;
    process.exitCode = has ? 64 : code;
    if (!isCommanderError(error)) return;
    if (error.code === "commander.unknownCommand") await suggest(command);
    if (error.code === "commander.unknownOption") await suggestOption(words, error.message);
  }
}

const wrongUsage = 2;
/** The option of a command of which 2 means that there are changes. */
const detailedExitCode = "--detailed-exitcode";

const optionIn = async (words: readonly string[], flag: string): Promise<string | undefined> =>
  (await import("./like.ts")).optionLike(words, flag);

function exitCodeOf(error: unknown): number {
  // Commander has already printed its message. It also throws, with code 0, after --help and
  // --version.
  if (isCommanderError(error)) return error.exitCode === 0 ? 0 : wrongUsage;
  if (error instanceof CliError) {
    if (error.message !== "") say(errorLine(error.message));
    return error.exitCode;
  }
  if (error instanceof ConfigError) {
    say(errorLine(error.message));
    return 78;
  }
  const failure = fileFailure(error);
  if (failure !== undefined) {
    say(errorLine(failure));
    return 1;
  }
  say(`windlass: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  return 1;
}

/** Suggests the command for a verb without its noun, or lists the verbs of a noun. */
async function suggest(words: readonly string[]): Promise<void> {
  const { commandsWithVerb, verbsOf } = await import("./like.ts");
  const named = words.filter((one) => !one.startsWith("-"));
  const { noun, verbs } = (await verbsOf(named)) ?? {};
  if (verbs) return say(`The commands of windlass ${noun}: ${verbs.join(", ")}`);
  const whole = await commandsWithVerb(named[0] ?? "");
  if (whole.length > 0 && whole.length <= 3) say(`Did you mean ${whole.join(" or ")}?`);
}

/** Suggests the option that was meant by one of terraform's, as in `-target=ADDRESS`. */
async function suggestOption(words: readonly string[], message: string): Promise<void> {
  const [, flag] = /^error: unknown option '(.*)'/.exec(message) ?? [];
  const option = flag === undefined ? undefined : await optionIn(words, flag);
  // Commander suggests options that are spelt alike.
  if (option !== undefined && !message.includes("Did you mean")) say(`Did you mean ${option}?`);
}

const isCommanderError = (error: unknown): error is CommanderError =>
  error instanceof Error && error.name === "CommanderError";
