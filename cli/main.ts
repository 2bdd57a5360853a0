/** The client: finds the command that was meant and loads only that one's code. */
import type { CommanderError } from "commander";
import { ConfigError } from "../common/settings/config-error.ts";
import { Failure, print, say, whenReaderLeaves } from "./terminal/output.ts";
import { version } from "../common/version.ts";

/** Runs one command line and sets the exit code: 0 done, 1 failed, 2 wrong usage, 78 a wrong setting. */
export async function main(words: readonly string[]): Promise<void> {
  whenReaderLeaves(() => process.exit(0));
  // Asked for by scripts and prompts, so it is answered before the parser is loaded, which takes as long as Node itself.
  if (words.length === 1 && (words[0] === "--version" || words[0] === "-V"))
    return print(version());
  try {
    const program = await (await import("./program.ts")).buildProgram(words);
    if (words.length === 0) program.outputHelp();
    else await program.parseAsync(words, { from: "user" });
  } catch (error) {
    process.exitCode = exitCodeOf(error);
    if (isCommanderError(error) && error.code === "commander.unknownCommand")
      await suggestNoun(words);
  }
}

function exitCodeOf(error: unknown): number {
  // Commander has printed its message already; it ends --help and --version by throwing too, with code 0.
  if (isCommanderError(error)) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof Failure) {
    if (error.message !== "") say(`windlass: ${error.message}`);
    return error.exitCode;
  }
  if (error instanceof ConfigError) {
    say(`windlass: ${error.message}`);
    return 78;
  }
  say(`windlass: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  return 1;
}

/** After a verb without its noun: `windlass plan network`. */
async function suggestNoun(words: readonly string[]): Promise<void> {
  const { commandsEndingIn } = await import("./program.ts");
  const word = words.find((one) => !one.startsWith("-")) ?? "";
  const whole = await commandsEndingIn(word);
  if (whole.length > 0 && whole.length <= 3) say(`There is ${whole.join(", and ")}.`);
}

const isCommanderError = (error: unknown): error is CommanderError =>
  error instanceof Error && error.name === "CommanderError";
