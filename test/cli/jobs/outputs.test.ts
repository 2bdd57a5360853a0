import { expect, test } from "vitest";
import { outputLines } from "../../../cli/jobs/outputs.ts";

const shown = (output: unknown, isTerminal = false) =>
  outputLines({ outputs: { a: output } }, isTerminal);

test.each([
  [{ type: "string", value: "x\t\u001b[2Jy", sensitive: false }, "x\ty"],
  [{ type: "dynamic", value: null, sensitive: false }, "null"],
  [{ type: ["list", "number"], value: [1], sensitive: false }, "[1]"],
  [{ type: "string", sensitive: true }, "(sensitive)"],
  [
    { type: "string", sensitive: false, omitted_bytes: 268_891 },
    "(268,891 bytes: too large to be kept here)",
  ],
  [{ type: "string", sensitive: false }, "(not kept here)"],
  [{ type: "number", value: 1e40 }, "10000000000000000000000000000000000000000"],
  [{ type: ["object", {}], value: { a: 1e-22 } }, '{"a":0.0000000000000000000001}'],
  [{ type: "number", value: "9007199254740993" }, "9007199254740993"],
  ["bare", "bare"],
  [null, "null"],
  [{ bare: 1 }, '{"bare":1}'],
])("the output %j is shown as %s", (output, text) => {
  expect(shown(output)).toEqual([`  a  = ${text}`]);
});

test("a text of several lines keeps them, and their tabs, without control characters", () => {
  const value = "-----BEGIN\r\n\tMII\u001b[2J\n";
  const outputs = { key: { value }, a: { value: 1 } };
  const lines = ["  key  = <<EOT", "-----BEGIN", "\tMII", "", "EOT", "  a    = 1"];
  expect(outputLines({ outputs }, true)).toEqual(lines);
  expect(outputLines({ outputs }, false)).toEqual(lines);
});

test("a long list or map is shown as terraform does, a short one in one line", () => {
  const value = { type: "string", value: ["a".repeat(40), "b\u001b[2J\n"] };
  const lines = [
    "  a    = {",
    '    type  = "string"',
    "    value = [",
    `      "${"a".repeat(40)}",`,
    '      "b\\u001b[2J\\n",',
    "    ]",
    "  }",
    "  key  = 1",
  ];
  const outputs = { a: { value }, key: { value: 1 } };
  expect(outputLines({ outputs }, true)).toEqual(lines);
  expect(outputLines({ outputs }, false)).toEqual(lines);
});

test("a long value is cut on a terminal, and whole in a pipe", () => {
  const value = "x".repeat(5000);
  expect(shown({ value })).toEqual([`  a  = ${value}`]);
  expect(shown({ value }, true)).toEqual([
    `  a  = ${"x".repeat(2000)}… (3,000 more characters; --json shows all)`,
  ]);
  expect(shown({ value: "x".repeat(2000) }, true)).toEqual([`  a  = ${"x".repeat(2000)}`]);
});

test("the outputs that are left out are counted", () => {
  const outputs = { a: { value: 1 } };
  expect(outputLines({ outputs, outputs_omitted: 1234 }, false)).toEqual([
    "  a  = 1",
    "  (1,234 more outputs: too many to be kept here)",
  ]);
});
