/** What every blob store must do. The test file of each implementation runs it. */
import { hash, randomBytes } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { expect, test } from "vitest";
import type { Blobs } from "../../../control-plane/blobs/blobs.ts";
import { inPieces } from "../../helpers/machine/pieces.ts";

/** `left` counts what the store still contains, in any form. */
export function blobsContract(open: () => Promise<Blobs>, left: () => Promise<number>): void {
  const sizes = [0, 1, 65_535, 65_536, 65_537, 131_072, 3_000_000];
  test.for(sizes)("%i bytes are read back unchanged, with their size and SHA-256", async (size) => {
    const blobs = await open();
    const content = randomBytes(size);
    const written = await blobs.write(inPieces(content), size);
    expect(written).toMatchObject({ size_bytes: size, sha256: hash("sha256", content) });
    expect((await buffer(await blobs.read(written.blob))).equals(content)).toBe(true);
  });

  test("any range is read", async () => {
    const blobs = await open();
    const content = randomBytes(200_000);
    const { blob } = await blobs.write(inPieces(content), content.length);
    const ranges = [
      [0, 0],
      [0, 65_535],
      [65_535, 65_536],
      [65_536, 131_071],
      [70_000, 190_000],
      [199_999, 199_999],
      [0, 199_999],
    ] as const;
    for (const [start, end] of ranges) {
      const read = await buffer(await blobs.read(blob, { start, end }));
      expect(read.equals(content.subarray(start, end + 1))).toBe(true);
    }
  });

  test("the same content twice is two blobs, and deleting one leaves the other", async () => {
    const blobs = await open();
    const content = Buffer.from("twice");
    const [one, other] = await Promise.all([
      blobs.write(inPieces(content), 5),
      blobs.write(inPieces(content), 5),
    ]);
    await blobs.delete(one.blob);
    await blobs.delete(one.blob);
    await expect(blobs.read(one.blob).then(buffer)).rejects.toBeInstanceOf(Error);
    expect(await buffer(await blobs.read(other.blob))).toEqual(content);
  });

  test("a blob is listed with the time it was written until it is deleted", async () => {
    const blobs = await open();
    const before = Date.now() - 2000;
    const { blob } = await blobs.write(inPieces(Buffer.from("listed")), 6);
    const listed = async () => {
      const names: string[] = [];
      for await (const page of blobs.list()) names.push(...page);
      return names.includes(blob);
    };
    expect(await listed()).toBe(true);
    const at = await blobs.writtenAt(blob);
    expect(at).toBeGreaterThan(before);
    expect(at).toBeLessThan(Date.now() + 2000);
    await blobs.delete(blob);
    expect(await listed()).toBe(false);
    expect(await blobs.writtenAt(blob)).toBe(Infinity);
  });

  test("content above the limit is refused while it arrives, and nothing of it stays", async () => {
    const blobs = await open();
    let given = 0;
    const endless = (async function* () {
      for (;;) {
        given += 65_536;
        yield Buffer.alloc(65_536);
      }
    })();
    await expect(blobs.write(endless, 1_000_000)).rejects.toMatchObject({
      code: "payload_too_large",
    });
    expect(given).toBeLessThan(1_200_000);
    expect(await left()).toBe(0);
  });

  test("content that breaks off is rejected with its own error, and nothing of it stays", async () => {
    const blobs = await open();
    const broken = (async function* () {
      yield randomBytes(300_000);
      throw new Error("the line was cut");
    })();
    await expect(blobs.write(broken, 1_000_000)).rejects.toThrow("the line was cut");
    expect(await left()).toBe(0);
  });
}
