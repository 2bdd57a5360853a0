/** Changes only the serial's bytes: a state may have numbers longer than a double. */
import { RefusalError } from "./refusal.ts";
import { StateDocumentReader, type Range } from "./state-document.ts";

/** A serial has at most 16 digits; one that is written in more bytes is refused. */
const longestSerial = 64;

/** Yields the same document with this serial. Throws if it is no state. */
export async function* withSerial(
  content: AsyncIterable<Uint8Array>,
  serial: number,
): AsyncGenerator<Uint8Array> {
  const found: Range[] = [];
  const reader = new StateDocumentReader((place) => found.push(place));
  /** The bytes that may begin a serial, and the place of the first in the document. */
  let held: Uint8Array = new Uint8Array();
  let at = 0;
  for await (const chunk of content) {
    reader.push(chunk);
    held = Buffer.concat([held, chunk]);
    // The last value of a name that comes twice counts, and every one is replaced.
    for (const { start, end } of found.splice(0)) {
      if (start < at)
        throw new RefusalError("state_conflict", "the serial of this version cannot be found");
      yield held.subarray(0, start - at);
      yield Buffer.from(String(serial));
      held = held.subarray(end + 1 - at);
      at = end + 1;
    }
    const passing = Math.max(held.length - longestSerial, 0);
    yield held.subarray(0, passing);
    held = held.subarray(passing);
    at += passing;
  }
  reader.end();
  yield held;
}
