import * as fc from "fast-check";
import { expect, test } from "vitest";
import { withSerial } from "../../../control-plane/domain/state-serial.ts";
import { mebibyte } from "../../../common/units.ts";
import { heapInUse } from "../../helpers/machine/heap.ts";

async function* inPieces(text: string, size: number) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function replaced(text: string, serial: number, size = 7): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of withSerial(inPieces(text, size), serial)) parts.push(part);
  return Buffer.concat(parts).toString();
}

test("the serial of the document itself is found", async () => {
  const text = (serial: number) =>
    `{"version":4,"lineage":"l","a":{"serial":1},"b":["serial",2],"serial" : ${serial} }`;
  expect(await replaced(text(3), 42)).toBe(text(42));
});

const state = (before: string, serial: string, after: string): string =>
  `{${before}"version":4,"lineage":"l","serial" : ${serial}${after}}`;

test("the serial is replaced, and every other byte is kept, however the bytes are split", async () => {
  const json = fc.json({ noUnicodeString: false });
  const size = fc.integer({ min: 1, max: 40 });
  await fc.assert(
    fc.asyncProperty(json, json, size, fc.maxSafeNat(), async (first, second, bytes, serial) => {
      const before = `"a":{"serial":7,"x":${first}},`;
      const after = ` ,"b":[{"serial":8}, ${second}],"c":"\\"serial\\":9"`;
      const text = state(before, "123", after);
      expect(await replaced(text, serial, bytes)).toBe(state(before, String(serial), after));
    }),
  );
});

test("every serial is replaced where a name comes twice", async () => {
  const text = (serial: number) =>
    `{"version":4,"serial":${serial},"lineage":"l","seri\\u0061l":${serial}}`;
  expect(await replaced(text(3), 10)).toBe(text(10));
});

test.for([
  ["no state", "{}"],
  ["a state that is cut off", '{"version":4,"serial":1,"lineage":"l"'],
  ["a serial of a hundred bytes", state("", `1.${"0".repeat(98)}`, "")],
])("%s is refused", async ([, text]) => {
  await expect(replaced(text as string, 2)).rejects.toThrow(/not a terraform state|serial/);
});

test("a state of any size is never held in memory", async () => {
  const filler = Buffer.alloc(mebibyte, "x");
  async function* large() {
    yield Buffer.from('{"version":4,"lineage":"l","serial":1,"pad":"');
    for (let n = 0; n < 48; n += 1) yield Buffer.from(filler);
    yield Buffer.from('"}');
  }
  const held = () => heapInUse() + process.memoryUsage().arrayBuffers;
  const before = held();
  let most = 0;
  let count = 0;
  for await (const part of withSerial(large(), 2)) {
    count += part.byteLength;
    if (part.byteLength > 1000) most = Math.max(most, held() - before);
  }
  expect(count).toBe(48 * mebibyte + 47);
  // A few pieces of 1 MiB.
  expect(most).toBeLessThan(12 * mebibyte);
});
