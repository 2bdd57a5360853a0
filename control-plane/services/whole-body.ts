import { RefusalError } from "../domain/refusal.ts";

/** Reads a small body. Throws `payload_too_large` beyond the limit, in bytes: its length may not be declared. */
export async function wholeBody(body: AsyncIterable<Uint8Array>, limit: number): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body) {
    size += part.length;
    if (size > limit)
      throw new RefusalError("payload_too_large", `the body may have at most ${limit} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}
