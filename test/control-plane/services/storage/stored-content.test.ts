import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Blobs } from "../../../../control-plane/blobs/blobs.ts";
import { readWithin } from "../../../../control-plane/services/storage/stored-content.ts";

test("content that arrives too slowly for work that others wait for is given up", async () => {
  let sent = 0;
  const slowly = async function* () {
    for (; sent < 1000; sent += 1) {
      await pause(5);
      yield Buffer.from("a");
    }
  };
  const blobs = { read: async () => Readable.from(slowly()) } as Partial<Blobs> as Blobs;
  await expect(buffer(readWithin({ blobs }, "blob", 50))).rejects.toMatchObject({
    code: "storage_unavailable",
  });
  expect(sent).toBeLessThan(1000);
});
