import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { countLines } from "../../../../agent/job/terraform/count-lines.ts";
import { scratch } from "../../../helpers/agent/agent-process.ts";
import { underProve } from "../../../helpers/project/proving.ts";

describe("countLines", () => {
  test.each([
    ["an empty file", "", 0],
    ["one line", "a\n", 1],
    ["a line without its end", "a\nb", 2],
    ["empty lines between", "\na\n\n\nb\n\n", 2],
    ["lines across the parts of a stream", `${"x".repeat(65_535)}\n\n${"y".repeat(70_000)}\nz`, 3],
  ])("counts the non-empty lines of %s", async (_, text, count) => {
    using place = scratch();
    const file = join(place.path, "list");
    writeFileSync(file, text);
    expect(await countLines(file)).toBe(count);
  });

  test.for(underProve)(
    "counts the lines of a file over the maximum length of a string: %s",
    async () => {
      using place = scratch();
      const file = join(place.path, "list");
      writeFileSync(file, "a\nb\n");
      truncateSync(file, 600 * 1024 ** 2);
      expect(await countLines(file)).toBe(3);
    },
  );
});
