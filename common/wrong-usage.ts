import { closest } from "./spelling.ts";

/**
 * What the server's and the agent's commands print for a wrong command line: the error and where
 * the help is, as the client does. The whole help would push the error off the screen.
 */
export const wrongUsage = (command: string, message: string): string =>
  `${message}\nFor help: ${command} --help`;

/**
 * For a word that is neither one of the commands nor an option. Suggests the command that it
 * resembles.
 */
export function unknownWord(command: string, word: string, commands: readonly string[]): string {
  const kind = word.startsWith("-") ? "option" : "command";
  const meant = closest(word, commands);
  const suggestion = meant === undefined ? "" : `\nDid you mean ${command} ${meant}?`;
  return wrongUsage(command, `${command} has no ${kind} "${word}"${suggestion}`);
}
