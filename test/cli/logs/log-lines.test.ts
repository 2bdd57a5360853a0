import { expect, test } from "vitest";
import { logLines } from "../../../cli/logs/log-lines.ts";
import type { StreamType } from "../../../protocol/jobs.ts";

function shownOf(chunks: readonly (readonly [StreamType, string])[]): string[] {
  const shown: string[] = [];
  const lines = logLines((line) => shown.push(line));
  for (const [stream_type, log_chunk] of chunks) lines.add({ stream_type, log_chunk });
  lines.flush();
  return shown;
}

test.each([
  ["cut at the ends of lines", ["one\n", "two\n", "three\n"]],
  ["cut within lines", ["on", "e\ntw", "o\nthr", "ee\n"]],
  ["in one piece", ["one\ntwo\nthree\n"]],
  ["without a last line end", ["one\ntwo\n", "three"]],
])("a log %s is shown as whole lines, each once", (_, chunks) => {
  expect(shownOf(chunks.map((text) => ["STDOUT", text]))).toEqual(["one", "two", "three"]);
});

test("lines of different streams are not mixed, and system lines are marked", () => {
  expect(
    shownOf([
      ["SYSTEM", "terraform 1.14.0: plan\n"],
      ["STDOUT", "Planning"],
      ["STDERR", "Warning: old\n"],
      ["STDOUT", " done\n"],
    ]),
  ).toEqual(["• terraform 1.14.0: plan", "Warning: old", "Planning done"]);
});

test("an empty log has no lines", () => {
  expect(shownOf([])).toEqual([]);
});
