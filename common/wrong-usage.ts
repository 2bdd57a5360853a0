import { closest } from "./spelling.ts";

/** The error and where the help is, as the client prints it: all of it would hide the error. */
export const wrongUsage = (command: string, message: string): string =>
  `${message}\nFor help: ${command} --help`;

/** For a word that is no command and no option. Suggests the command that it resembles. */
export function unknownWord(command: string, word: string, commands: readonly string[]): string {
  const kind = word.startsWith("-") ? "option" : "command";
  const meant = closest(word, commands);
  const suggestion = meant === undefined ? "" : `\nDid you mean ${command} ${meant}?`;
  return wrongUsage(command, `${command} has no ${kind} "${word}"${suggestion}`);
}
