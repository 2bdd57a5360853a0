/**
 * What the server's and the agent's commands print for a wrong command line: the error and where
 * the help is, as the client does. The whole help would push the error off the screen.
 */
export const wrongUsage = (command: string, message: string): string =>
  `${message}\nFor help: ${command} --help`;

/** For a word that is neither a command nor an option. */
export const unknownWord = (command: string, word: string): string =>
  wrongUsage(command, `${command} has no ${word.startsWith("-") ? "option" : "command"} "${word}"`);
