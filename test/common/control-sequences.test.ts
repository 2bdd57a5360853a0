import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { withoutControlSequences, withVisibleDirections } from "../../common/control-sequences.ts";

describe("text without control sequences", () => {
  it.each([
    "plain",
    "\u001b[1mbold\u001b[0m and \u001b[38;5;196mred\u001b[m",
    "\u001b]0;title\u0007text",
    "\u001b]8;;https://example.com\u001b\\link\u001b]8;;\u001b\\",
    "\u009b31mred\u009b0m",
    "\u001b[K\u001b[2J\u001b[?25l",
    "at the end \u001b",
    "\u001b]without an end",
  ])("is as Node strips it: %j", (text) => {
    expect(withoutControlSequences(text)).toBe(stripVTControlCharacters(text));
  });

  // Node takes hours for one of these.
  it.each(["\u001b]", "\u001b]0\n", "\u001b[", "\u001b[1;", "\u009b;#"])(
    "takes a moment for a megabyte of %j",
    (piece) => {
      const text = piece.repeat(1_000_000 / piece.length);
      const start = performance.now();
      withoutControlSequences(text);
      withoutControlSequences(`\u001b${text.replaceAll("\u001b", "")}`);
      expect(performance.now() - start).toBeLessThan(5000);
    },
  );
});

it("what changes the direction or the lines of text is visible; what languages need stays", () => {
  expect(withVisibleDirections("a\u202eb\u2066c\u200fd\u2028e\ufeff")).toBe(
    "a\\u202eb\\u2066c\\u200fd\\u2028e\\ufeff",
  );
  for (const text of ["Zürich 東京 עברית", "👩\u200d💻", "می\u200cخواهم"])
    expect(withVisibleDirections(text)).toBe(text);
});
