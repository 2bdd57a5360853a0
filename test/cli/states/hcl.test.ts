import { expect, test } from "vitest";
import { hclValue, stateValue } from "../../../cli/states/hcl.ts";

test.each<[string, unknown, string]>([
  ["a text", 'a "b"', '"a \\"b\\""'],
  ["a number, a truth value and null", [1, true, null], "[\n  1,\n  true,\n  null,\n]"],
  ["a hidden value", "(sensitive)", "(sensitive)"],
  [
    "a map",
    { a: "x", "long key": { b: 1 } },
    '{\n  a          = "x"\n  "long key" = {\n    b = 1\n  }\n}',
  ],
  ["nothing", [[], {}], "[\n  [],\n  {},\n]"],
  ["the value of dynamic type", { type: "string", value: "x" }, '"x"'],
  [
    "an object of dynamic type",
    { type: ["object", { name: "string" }], value: { name: "x" } },
    '{\n  name = "x"\n}',
  ],
  [
    "an object with these names",
    { type: "t3.micro", value: "x" },
    '{\n  type  = "t3.micro"\n  value = "x"\n}',
  ],
])("%s is printed as terraform does", (_, value, text) => {
  expect(stateValue(value)).toBe(text);
});

test("a value that is not of a state has no types beside it", () => {
  expect(hclValue({ type: "string", value: "(sensitive)" }, "  ")).toBe(
    '{\n    type  = "string"\n    value = "(sensitive)"\n  }',
  );
});
