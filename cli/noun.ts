/** Builders for commands of the form `windlass <noun> <verb> [name]`, with plural nouns. */
import {
  Command,
  InvalidArgumentError,
  Option,
  type CommandUnknownOpts,
} from "@commander-js/extra-typings";
import { styled } from "./terminal/output.ts";

/** Creates a noun, to which verbs are added. Without a verb it shows its help. */
export const noun = (name: string, description: string) =>
  new Command(name).description(description);

/** Each purpose stands beside its example, or above it if a line would exceed 80 columns. */
export function examples<C extends CommandUnknownOpts>(
  command: C,
  lines: readonly (readonly [command: string, meaning: string])[],
): C {
  const width = Math.max(...lines.map(([text]) => text.length));
  const beside = lines.map(([text, meaning]) => `  ${text.padEnd(width)}   ${meaning}`.trimEnd());
  const above = lines.map(([text, meaning]) => `${meaning ? `  # ${meaning}\n` : ""}  ${text}`);
  const shown = beside.every((line) => line.length <= 80) ? beside : above;
  command.addHelpText("after", `\n${styled("bold", "Examples:")}\n${shown.join("\n")}\n`);
  return command;
}

/** Adds one example to each verb in `texts`: the words after its name, and their purpose. */
export function verbExamples<C extends CommandUnknownOpts>(
  command: C,
  texts: Readonly<Record<string, readonly [rest: string, meaning: string]>>,
): C {
  for (const verb of command.commands) {
    const text = texts[verb.name()];
    if (text)
      examples(verb, [[`windlass ${command.name()} ${verb.name()} ${text[0]}`.trimEnd(), text[1]]]);
  }
  return command;
}

/** Describes an argument or option that names a configuration. */
export const configurationHelp = "name or id of the configuration; - for that of this directory";

/** Creates an option that may be repeated, with one value each: `--label gpu --label eu`. */
export const repeated = <const F extends string>(flags: F, description: string) =>
  new Option(flags, description).argParser((value: string, before: string[] | undefined) => [
    ...(before ?? []),
    value,
  ]);

/** Creates `--label`, which takes one label; a comma is in none. */
export const labels = (description: string) =>
  new Option("--label <label>", description).argParser((value, before: string[] | undefined) => {
    if (!value.includes(",")) return [...(before ?? []), value];
    throw new InvalidArgumentError("Pass --label once for each label.");
  });

/** Creates an option whose value is one of these words, in any case and with `_` for `-`. */
export function oneOf<const F extends string, const W extends string>(
  flags: F,
  description: string,
  words: readonly W[],
) {
  return new Option(flags, description).choices(words).argParser((text: string): W => {
    const word = text.toLowerCase().replaceAll("_", "-");
    const found = words.find((one) => one === word);
    if (found === undefined)
      throw new InvalidArgumentError(`Allowed choices are ${words.join(", ")}.`);
    return found;
  });
}

/** Creates an option with a number as its default, which the help shows without quotes. */
export const counted = <const F extends string>(flags: F, description: string, value: string) =>
  new Option(flags, description).default(value, value);

/** How times are typed, for helps. */
export const timeHelp = "such as 24h (ago), 2026-01-31 or 2026-01-31T12:00Z";

/** The same for times ahead. */
export const comingTimeHelp = "such as 7d (from now), 2026-01-31 or 2026-01-31T12:00Z";

/** Creates `--limit`, for lists that are read in pages. */
export const limit = (description: string) => counted("--limit <count>", description, "20");

/** Creates `--yes`, for every verb that asks for confirmation; `when`: of one that asks only then. */
export const yes = (when = "") =>
  new Option(
    "-y, --yes",
    `${when}do not ask for confirmation; without it and without a terminal, exit with 2`,
  );

/** Names the exit codes of a command in its help, besides 78 for a wrong setting. */
export function exitCodes<C extends CommandUnknownOpts>(
  command: C,
  codes: Readonly<Record<number, string>>,
): C {
  const lines = Object.entries(codes).map(([code, meaning]) => `  ${code.padEnd(3)}  ${meaning}`);
  command.addHelpText("after", `\n${styled("bold", "Exit codes:")}\n${lines.join("\n")}`);
  return command;
}
