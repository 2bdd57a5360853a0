import { describe, expect, test } from "vitest";
import { nextMark, ResourceLines } from "../../../agent/logs/resource-lines.ts";

/** As terraform prints it. */
const bold = (text: string): string => `\u001b[0m\u001b[1m${text}\u001b[0m\u001b[0m\n`;
const failure = (address: string): string =>
  [
    "\u001b[31m╷\u001b[0m\u001b[0m",
    "\u001b[31m│\u001b[0m \u001b[0m\u001b[1m\u001b[31mError: \u001b[0m\u001b[0m\u001b[1mlocal-exec provisioner error\u001b[0m",
    "\u001b[31m│\u001b[0m \u001b[0m",
    `\u001b[31m│\u001b[0m \u001b[0m\u001b[0m  with ${address},`,
    "\u001b[31m│\u001b[0m \u001b[0m  on main.tf line 6, in resource:",
    "\u001b[31m╵\u001b[0m\u001b[0m\n",
  ].join("\n");

describe("a line of progress", () => {
  test.each([
    ["a.b: Creating...", "a.b create started"],
    ["a.b: Creation complete after 1m3s [id=i-1]", "a.b create ended"],
    ["a.b: Modifying... [id=x: Creating...]", "a.b update started"],
    ["a.b: Modifications complete after 0s [id=x]", "a.b update ended"],
    ['module.m["k"].a.b[0]: Destroying... [id=x]', 'module.m["k"].a.b[0] delete started'],
    ["a.b: Destruction complete after 2h0m1s", "a.b delete ended"],
    ["a.b (deposed object cf2649ae): Destroying... [id=x]", "a.b delete started"],
    ["data.a.b: Reading...", "data.a.b read started"],
    ["data.a.b: Read complete after 0s [id=x]", "data.a.b read ended"],
    ["a.b: Importing... [id=x]", "a.b import started"],
    ["a.b: Import complete [id=x]", "a.b import ended"],
    ['a.b["y: Creating... z"]: Creating...', 'a.b["y: Creating... z"] create started'],
  ])("%s", (line, expected) => {
    for (const text of [bold(line), `${line}\nmore of the chunk\n`]) {
      const { address, action, event } = new ResourceLines().read(text, "STDOUT") ?? {};
      expect([address, action, event].join(" ")).toBe(expected);
    }
  });

  test.each([
    ["Creation complete after 1m3s [id=i-1]", 63],
    ["Modifications complete after 0s [id=x]", 0],
    ["Destruction complete after 2h0m1s", 7201],
    ["Import complete [id=x]", undefined],
    ["Creation complete after 9999999h0m0s", undefined],
    ["Creation complete after smh", undefined],
    ["Creating...", undefined],
  ])("%s has a duration of %s s", (words, seconds) => {
    const event = new ResourceLines().read(bold(`a.b: ${words}`), "STDOUT");
    expect(event?.address).toBe("a.b");
    expect(event?.elapsed_seconds).toBe(seconds);
  });

  test.each([
    "a.b: Still creating... [10s elapsed]",
    "a.b: Provisioning with 'local-exec'...",
    "a.b (local-exec): x: Creating...",
    "a.b (local-exec): Creating...",
    "some words: Creation complete after 1s",
    "a.b: Refreshing state... [id=x]",
    "a.b: Inventing...",
    `${"a".repeat(2000)}.b: Creating...`,
    "Creating...",
    "",
  ])("is not %j", (line) => {
    expect(new ResourceLines().read(bold(line), "STDOUT")).toBeUndefined();
  });
});

test("an error is the failure of the resource that it names, if that is being changed", () => {
  const lines = new ResourceLines();
  expect(lines.read(failure("a.b"), "STDERR")).toBeUndefined();
  lines.read(bold("a.b: Modifying... [id=1]"), "STDOUT");
  expect(lines.read(failure("a.c"), "STDERR")).toBeUndefined();
  expect(lines.read(failure("a.b").replace("Error: ", "Warning: "), "STDERR")).toBeUndefined();
  const failed = { address: "a.b", action: "update", event: "failed" };
  expect(lines.read(failure("a.b"), "STDERR")).toEqual(failed);
  expect(lines.read(failure("a.b"), "STDERR")).toBeUndefined();
});

test("nextMark returns where the next such line begins, and none at the start", () => {
  const cut = (text: string, stream: "STDOUT" | "STDERR"): string => {
    const bytes = Buffer.from(text);
    return bytes.toString("utf8", 0, nextMark(bytes, stream));
  };
  const [one, two] = [bold("é.b: Creating..."), bold("a.c: Creation complete after 1s")];
  expect(cut(`é Plan: 1\n${one}x\n${two}`, "STDOUT")).toBe("é Plan: 1\n");
  expect(cut(`${one}x\n${two}`, "STDOUT")).toBe(`${one}x\n`);
  expect(cut(`${two}no mark`, "STDOUT")).toBe(`${two}no mark`);
  expect(cut(`${failure("a.b")}${failure("a.c")}`, "STDERR")).toBe(failure("a.b"));
  expect(cut("", "STDOUT")).toBe("");
});
