import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { unpack } from "../../../cli/logs/debug-log.ts";

const limit = 256 * 1024;
const packed = (text: string | Buffer) => Readable.from([gzipSync(text)]);

test("a debug log is decompressed up to its limit", async () => {
  const text = Buffer.alloc(limit, "line\n");
  expect((await buffer(unpack(packed(text), limit))).equals(text)).toBe(true);
});

test("a debug log that decompresses over its limit is refused before it fills the disk", async () => {
  const body = packed(Buffer.alloc(4 * limit));
  let taken = 0;
  const read = async () => {
    for await (const part of unpack(body, limit)) taken += part.length;
  };
  await expect(read()).rejects.toThrow("it has more than 0.25 MiB");
  expect(taken).toBeLessThanOrEqual(limit);
  expect(body.destroyed).toBe(true);
});

test("a body that is truncated or not gzip is refused", async () => {
  await expect(buffer(unpack(Readable.from([gzipSync("text").subarray(0, 15)])))).rejects.toThrow(
    "unexpected end of file",
  );
  await expect(buffer(unpack(Readable.from([Buffer.from("text")])))).rejects.toThrow(
    "incorrect header check",
  );
});
