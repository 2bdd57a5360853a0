/** Splits content into pieces, as a network does. */
export async function* inPieces(content: Buffer, size = 60_007): AsyncGenerator<Buffer> {
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size);
}
