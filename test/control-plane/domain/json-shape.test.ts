import { describe, expect, it } from "vitest";
import { findExcess, withoutParts } from "../../../control-plane/domain/json-shape.ts";

const limits = { levels: 3, values: 10 };
const excessOf = (text: string) => findExcess(Buffer.from(text), limits);

describe("findExcess", () => {
  it.each([
    "",
    "1",
    '"[[[[[[{{{{{,,,,,,,,,,,,,,,,"',
    '["\\"[[[[,,,,,,,,,,,,"]',
    '["\\\\",[[1]]]',
    "[1,2,3,4,5,6,7,8,9,0]",
    '{"a":{"b":{}},"c":[[]]}',
    // Longer strings.
    `["${"[".repeat(100)}\\"${"[".repeat(100)}"]`,
    `["${"[".repeat(100)}\\\\\\"${"[".repeat(100)}"]`,
    `["${"[".repeat(63)}\\"${"[".repeat(100)}"]`,
    `["${"x".repeat(100)}\\\\",[[1]]]`,
    // Left to the parser.
    `"${"[".repeat(100)}`,
    `"${"[".repeat(100)}\\"`,
    '"never ends',
    '"\\',
    "]]]]",
  ])("returns undefined for %s", (text) => {
    expect(excessOf(text)).toBeUndefined();
  });

  it.each([
    ["[[[[", "lists and maps are nested more than 3 levels deep"],
    ['{"a":{"b":{"c":{}}}}', "lists and maps are nested more than 3 levels deep"],
    ["[1,2,3,4,5,6,7,8,9,0,1]", "it has more than 10 values"],
    [`[${"[],".repeat(8)}[]]`, "it has more than 10 values"],
    [`["${"x".repeat(100)}\\\\",[[[1]]]]`, "lists and maps are nested more than 3 levels deep"],
    [`["${"\\\\".repeat(50)}",[[[1]]]]`, "lists and maps are nested more than 3 levels deep"],
    ['["\\\\",[[[1]]]]', "lists and maps are nested more than 3 levels deep"],
  ])("reports the excess of %s", (text, words) => {
    expect(excessOf(text)).toBe(words);
  });
});

describe("withoutParts", () => {
  it.each([
    [
      '{"a":1,"b":{"c":[1,{}]},"d":"{[","e":[],"f":null}',
      { a: 1, b: null, d: "{[", e: null, f: null },
    ],
    ["{}", {}],
    ['{"a\\"{":[[]]}', { 'a"{': null }],
    ["[[1],2]", [null, 2]],
    ["7", 7],
  ])("keeps only the plain values of %s", (text, value) => {
    expect(JSON.parse(withoutParts(Buffer.from(text)))).toEqual(value);
  });

  it.each(['{"a":{', '{"a":"', "{]}"])("leaves the malformed %s malformed", (text) => {
    expect(() => JSON.parse(withoutParts(Buffer.from(text)))).toThrow(SyntaxError);
  });
});
