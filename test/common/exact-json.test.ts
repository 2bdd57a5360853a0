import { describe, expect, it } from "vitest";
import { exactNumber, parseExactly } from "../../common/exact-json.ts";

describe("a number", () => {
  it.each(["0", "-0", "1.50", "9007199254740992", "-9007199254740991", "1e3", "1E+21", "0.1"])(
    "%s stays a number",
    (text) => {
      expect(exactNumber(text)).toBe(Number(text));
    },
  );

  it.each([
    "9007199254740993",
    "-12345678901234567890",
    "0.1000000000000000055511151231257827",
    "1e400",
    "1e-400",
  ])("%s stays text, because it would be rounded", (text) => {
    expect(exactNumber(text)).toBe(text);
  });
});

it("only numbers that would be rounded become text", () => {
  expect(parseExactly('{"a":[1,"1",12345678901234567890,null],"b":9007199254740993}')).toEqual({
    a: [1, "1", "12345678901234567890", null],
    b: "9007199254740993",
  });
  expect(() => parseExactly("{")).toThrow(SyntaxError);
});
