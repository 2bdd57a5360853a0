/** JSON of responses that may be too large for one string. */

/** JSON in pieces, of which only one is in memory. */
export type JsonText = AsyncGenerator<string, void, undefined>;

/** Yields the JSON of one object in one piece; nothing if there is none. */
export async function* writeWhole(thing: unknown): JsonText {
  const found = await thing;
  if (found !== undefined) yield JSON.stringify(found);
}
