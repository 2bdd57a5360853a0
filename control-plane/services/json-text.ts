/** Answers that may be too large for one string. */

/** JSON in pieces. Only the piece at hand is in memory. */
export type JsonText = AsyncGenerator<string, void, undefined>;

/** The JSON of one thing in one piece; nothing if there is none. */
export async function* writeWhole(thing: unknown): JsonText {
  const found = await thing;
  if (found !== undefined) yield JSON.stringify(found);
}
