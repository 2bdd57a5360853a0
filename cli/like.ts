/** The commands and options that a mistyped command line may have meant. */
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { entries, wholeProgram } from "./program.ts";

/** The deepest noun at the start, such as `teams members`, with its verbs; undefined if none. */
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

/** Such as `windlass jobs plan` for `plan`, or what does the same as terraform's verb. */
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
 * What terraform's `flag` is here, such as `--target` for `-target=ADDRESS`, or the command that
 * has it in place of `up`; undefined if nothing.
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
