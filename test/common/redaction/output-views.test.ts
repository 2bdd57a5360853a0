import { expect, test } from "vitest";
import {
  asItIs,
  extentOf,
  withoutBreaks,
  withSingleBlanks,
  type View,
} from "../../../common/redaction/output-views.ts";

const red = "\u001b[31m";

/** Returns the text of a view, and checks that each of its letters is where the view says. */
function shown(viewOf: (bytes: Buffer) => View, output: string | Buffer): string {
  const bytes = Buffer.from(output);
  const view = viewOf(bytes);
  for (const [index, byte] of view.bytes.entries())
    if (byte > 0x20) expect([index, bytes[view.placeOf(index)]]).toEqual([index, byte]);
  return view.bytes.toString("latin1");
}

test.each([
  ["one line", "one line"],
  ["ab\ncd", "abcd"],
  ["ab\r\ncd\r\nef", "abcdef"],
  ["ab\rcd", "ab\rcd"],
  ["a\r", "a"],
  ["\nab", "ab"],
  // An empty line ends the text before it.
  ["ab\n\ncd", "ab\ncd"],
  ["ab\n\n\ncd", "ab\ncd"],
  ["ab\n | \tcd", "abcd"],
  ["ab\n│ cd", "abcd"],
  [`ab\n${red}│\u001b[0m cd`, "abcd"],
  ["ab\n\u001b[38;5;9mcd", "abcd"],
  // Not of a margin: no colour, another sequence, one that is too long, another letter.
  ["ab\n\u001b[31xcd", "ab\u001b[31xcd"],
  ["ab\n\u001b[?1mcd", "ab\u001b[?1mcd"],
  ["ab\n\u001b[/mcd", "ab\u001b[/mcd"],
  ["ab\n\u001b[:mcd", "ab\u001b[:mcd"],
  ["ab\n\u001b]cd", "ab\u001b]cd"],
  [`ab\n\u001b[${"1".repeat(14)}mcd`, "abcd"],
  [`ab\n\u001b[${"1".repeat(15)}mcd`, `ab\u001b[${"1".repeat(15)}mcd`],
  [Buffer.from("ab\n\u2500"), Buffer.from("ab\u2500").toString("latin1")],
  // At the very end, what may become a margin counts as one.
  ["ab\n\u001b", "ab"],
  ["ab\n\u001b[3", "ab"],
  [Buffer.concat([Buffer.from("ab\n"), Buffer.from([0xe2, 0x94])]), "ab"],
  [`ab\n${" ".repeat(48)}cd`, "abcd"],
  [`ab\n${" ".repeat(49)}cd`, "ab cd"],
])("the view of %j without line breaks is %j", (output, view) => {
  expect(shown(withoutBreaks, output)).toBe(view);
});

test.each([
  ["a b", "a b"],
  ["a  b\t c\td", "a b c d"],
  ["a\n  b", "a b"],
  ["a\r\n│ b", "a b"],
  ["a\rb", "a\rb"],
  ["a \n \n b", "a b"],
  ["  a", " a"],
  ["a\n", "a "],
  [`a${" ".repeat(128)}b`, "a b"],
  [`a${" ".repeat(129)}b`, "a  b"],
])("the view of %j with single blanks is %j", (output, view) => {
  expect(shown(withSingleBlanks, output)).toBe(view);
});

test("a view is right after those of longer and shorter outputs", () => {
  for (const length of [1, 100, 10, 1000, 3]) {
    const line = "x".repeat(length);
    expect(shown(withoutBreaks, `${line}\n${line}`)).toBe(line + line);
    expect(shown(asItIs, line)).toBe(line);
  }
});

test.each([
  [1, 51],
  [16, 66],
  [17, 117],
])("a pattern of %i bytes takes at most %i bytes of output", (length, extent) => {
  expect(extentOf(length)).toBe(extent);
});
