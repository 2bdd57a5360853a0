import { describe, expect, it } from "vitest";
import { exactNumber, parseExactly, plainJson } from "../../common/exact-json.ts";

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

it.each([
  ["10000000000000000000000000000000000000000", "1e+40"],
  ["-12300000000000000000000", "-1.23e+22"],
  ["0.0000000000000000000001", "1e-22"],
  ["-0.000000123", "-1.23e-7"],
  ["1500000000000000000000000", "1.5e+24"],
  ["0.1", "0.1"],
  ["-7", "-7"],
])("the number %s is written without an exponent", (text, short) => {
  expect(String(parseExactly(text))).toBe(short);
  expect(plainJson(parseExactly(text))).toBe(text);
  expect(plainJson({ a: [parseExactly(text), short] })).toBe(`{"a":[${text},"${short}"]}`);
});

it("values that are no numbers are written as always", () => {
  expect(plainJson({ a: [null, true, "1e40"], b: {} })).toBe('{"a":[null,true,"1e40"],"b":{}}');
});
