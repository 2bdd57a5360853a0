/** The control sequences of terminals, such as colours, and other characters that change how text is shown. */

/**
 * In time of the length alone: Node's `stripVTControlCharacters` took 18 s for 128 KB of `ESC ]`,
 * and configurations decide what terraform prints.
 */
export const withoutControlSequences = (text: string): string => text.replaceAll(sequences, "");

/** As in Node, but a text such as a title or a link ends at the next escape. */
const sequences =
  // oxlint-disable-next-line no-control-regex -- control characters are what it looks for
  /\u001b\][^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)|[\u001b\u009b][[\]()#;?]*(?:\d{1,4}(?:[;:]\d{0,4})*)?[\dA-PR-TZcf-nq-uy=><~]/g;

/**
 * Characters that cannot be seen and change the order or the lines of text, for a class of a
 * regular expression. Without the joiners that languages and emoji need.
 */
export const invisible = String.raw`\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff`;
const allInvisible = new RegExp(`[${invisible}]`, "g");

/** Shows invisible characters as in JSON. */
export const withVisibleDirections = (text: string): string =>
  text.replaceAll(allInvisible, escaped);

/** Returns one character as JSON escapes it. */
export const escaped = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
