import { expect, test } from "vitest";
import { WholeLines } from "../../../../control-plane/services/logs/whole-lines.ts";
import type { StreamType } from "../../../../protocol/jobs.ts";

const join = (chunks: readonly (readonly [StreamType, string])[]): string => {
  const lines = new WholeLines();
  const texts = chunks.map(([stream_type, log_chunk]) => lines.add({ stream_type, log_chunk }));
  return texts.join("") + lines.end();
};

test.each<[string, [StreamType, string][], string]>([
  [
    "keeps a line whole that goes on behind another stream",
    [
      ["STDOUT", "one\nbegi"],
      ["STDERR", "error\n"],
      ["STDOUT", "nning\nlast\n"],
    ],
    "one\nerror\nbeginning\nlast\n",
  ],
  [
    "keeps the lines of three streams apart",
    [
      ["STDOUT", "a"],
      ["STDERR", "b"],
      ["SYSTEM", "c\n"],
      ["STDERR", "b\n"],
      ["STDOUT", "a"],
    ],
    "c\nbb\naa",
  ],
  [
    "ends each unfinished line but the last at the end of the log",
    [
      ["STDOUT", "out"],
      ["STDERR", "err"],
    ],
    "out\nerr",
  ],
  [
    "adds nothing to one stream",
    [
      ["STDOUT", "a\n\nb"],
      ["STDOUT", "c"],
    ],
    "a\n\nbc",
  ],
  ["has no text for an empty log", [], ""],
])("%s", (_, chunks, text) => {
  expect(join(chunks)).toBe(text);
});

test("returns a very long line in parts instead of holding it", () => {
  const lines = new WholeLines();
  const part = "x".repeat(200_000);
  expect(lines.add({ stream_type: "STDOUT", log_chunk: part })).toBe("");
  expect(lines.add({ stream_type: "STDOUT", log_chunk: part })).toBe(part + part);
  expect(lines.add({ stream_type: "STDERR", log_chunk: "error\n" })).toBe("\nerror\n");
  expect(lines.add({ stream_type: "STDOUT", log_chunk: "rest\n" })).toBe("rest\n");
});
