/** The grammar of the command line: `windlass <noun> <verb> [name]`, nouns in the plural, the same verbs everywhere. */
import { Command, Option, type CommandUnknownOpts } from "@commander-js/extra-typings";

/** A noun; its verbs are added to it. Without a verb it shows its help. */
export const noun = (name: string, description: string) =>
  new Command(name).description(description);

/** Adds examples to a command's help: what each is for beside it, or above where a narrow terminal would break the line. */
export function examples<C extends CommandUnknownOpts>(
  command: C,
  lines: readonly (readonly [command: string, meaning: string])[],
): C {
  const width = Math.max(...lines.map(([text]) => text.length));
  const beside = lines.map(([text, meaning]) => `  ${text.padEnd(width)}   ${meaning}`.trimEnd());
  const above = lines.map(([text, meaning]) => `${meaning ? `  # ${meaning}\n` : ""}  ${text}`);
  const shown = beside.every((line) => line.length <= 80) ? beside : above;
  command.addHelpText("after", `\nExamples:\n${shown.join("\n")}\n`);
  return command;
}

/** One example for each verb that has none of its own yet: what follows its name, and what that is for. */
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

/** An option that may come several times, one value each: `--label gpu --label eu`. */
export const repeated = <const F extends string>(flags: F, description: string) =>
  new Option(flags, description).argParser((value: string, before: string[] | undefined) => [
    ...(before ?? []),
    value,
  ]);

/** `--yes`, of every verb that asks. */
export const yes = () => new Option("-y, --yes", "do not ask");
