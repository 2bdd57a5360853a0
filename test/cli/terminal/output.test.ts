import { describe, expect, it } from "vitest";
import { cut, fitToTerminal, logLine, table } from "../../../cli/terminal/output.ts";

describe("a line of a log", () => {
  it.each([
    ["plain text", "hello", "hello", "hello"],
    [
      "colours",
      "\u001b[1m\u001b[32mdone\u001b[0m!",
      "\u001b[1m\u001b[32mdone\u001b[0m!\u001b[0m",
      "done!",
    ],
    ["a cursor movement", "a\u001b[2J\u001b[1;1Hb", "ab", "ab"],
    ["a window title", "a\u001b]0;title\u0007b", "ab", "ab"],
    ["a link", "\u001b]8;;https://example.test\u001b\\here\u001b]8;;\u001b\\", "here", "here"],
    ["a write to the clipboard", "a\u001b]52;c;aGk=\u0007b", "ab", "ab"],
    ["a lone escape", "a\u001b", "a", "a"],
    ["progress written over itself", "10 %\r50 %\r100 %", "100 %", "100 %"],
    ["a line end of Windows", "text\r", "text", "text"],
    ["a bell and a NUL", "a\u0007\u0000b", "ab", "ab"],
    ["tabs and other scripts", "a\tä 字 🙂", "a\tä 字 🙂", "a\tä 字 🙂"],
  ])("with %s", (_, line, coloured, plain) => {
    expect([logLine(line, true), logLine(line, false)]).toEqual([coloured, plain]);
  });
});

describe("a table", () => {
  it("pads each column to its widest cell as it is seen, and not the last", () => {
    expect(
      table([
        ["a", "\u001b[36mlong\u001b[39m", "x"],
        ["bcd", "e", "y z"],
      ]),
    ).toEqual(["a    \u001b[36mlong\u001b[39m  x", "bcd  e     y z"]);
    expect(table([])).toEqual([]);
    // A wide character takes two columns, an emoji of three code points too, an accent of its own none.
    expect(table(["名前", "👩‍💻", "e\u0301t", "four"].map((name) => [name, "x"]))).toEqual([
      "名前  x",
      "👩‍💻    x",
      "e\u0301t    x",
      "four  x",
    ]);
  });

  it("cuts a cell between characters, at its columns", () => {
    expect([3, 4, 5, 6, 7, 8].map((columns) => cut("ab👩‍💻名前", columns))).toEqual([
      "ab…",
      "ab…",
      "ab👩‍💻…",
      "ab👩‍💻…",
      "ab👩‍💻名…",
      "ab👩‍💻名前",
    ]);
  });

  it("fits into a terminal by cutting the widest columns, and never the id", () => {
    const rows = [
      ["NAME", "STATUS", "ID"],
      ["a name that is rather long", "\u001b[32mSUCCESS\u001b[39m", "0123456789"],
    ];
    expect(table(fitToTerminal(rows, 36))).toEqual([
      "NAME             STATUS   ID",
      "a name that is…  \u001b[32mSUCCESS\u001b[39m  0123456789",
    ]);
    expect(fitToTerminal(rows, 80)).toEqual(rows);
    expect(fitToTerminal(rows, 5)[1]?.[2]).toBe("0123456789");
  });
});
