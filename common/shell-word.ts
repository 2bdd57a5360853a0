/** Quotes a text, if needed, so that a printed command can be copied into a shell. */
export const shellWord = (text: string): string =>
  /^[\w.@/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** Returns words of which the user types one. */
export const shellWordsOr = (words: readonly string[]): string => words.map(shellWord).join(" or ");
