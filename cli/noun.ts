/** The grammar of the command line: `windlass <noun> <verb> [name]`, nouns in the plural, the same verbs everywhere. */
import { Command, type CommandUnknownOpts } from "@commander-js/extra-typings";

/** A noun; its verbs are added to it. Without a verb it shows its help. */
export const noun = (name: string, description: string) =>
  new Command(name).description(description);

/** Adds examples to a command's help. */
export function examples<C extends CommandUnknownOpts>(
  command: C,
  lines: readonly (readonly [command: string, meaning: string])[],
): C {
  const width = Math.max(...lines.map(([text]) => text.length));
  const shown = lines.map(([text, meaning]) => `  ${text.padEnd(width)}   ${meaning}`);
  command.addHelpText("after", `\nExamples:\n${shown.join("\n")}\n`);
  return command;
}
