import { describe, expect, it } from "vitest";
import { cut, fitToTerminal, shortenIds, table } from "../../../cli/terminal/table.ts";

describe("a table", () => {
  it("pads each column but the last to the displayed width of its widest cell", () => {
    expect(
      table([
        ["a", "\u001b[36mlong\u001b[39m", "x"],
        ["bcd", "e", "y z"],
      ]),
    ).toEqual(["a    \u001b[36mlong\u001b[39m  x", "bcd  e     y z"]);
    expect(table([])).toEqual([]);
    // A wide character and an emoji of three code points take two columns, a combining accent none.
    expect(table(["名前", "👩‍💻", "e\u0301t", "four"].map((name) => [name, "x"]))).toEqual([
      "名前  x",
      "👩‍💻    x",
      "e\u0301t    x",
      "four  x",
    ]);
  });

  it("cuts a cell between characters, at its displayed width", () => {
    expect([3, 4, 5, 6, 7, 8].map((columns) => cut("ab👩‍💻名前", columns))).toEqual([
      "ab…",
      "ab…",
      "ab👩‍💻…",
      "ab👩‍💻…",
      "ab👩‍💻名…",
      "ab👩‍💻名前",
    ]);
  });

  it("fits the terminal by cutting the widest columns, but never the id", () => {
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

  it("leaves out the columns that matter least before it cuts one that matters most", () => {
    const rows = [
      ["NAME", "STATUS", "SOURCE", "ID"],
      ["a name that is long", "DEPLOYED, last apply failed", "archive 0123456789ab", "01234"],
    ];
    const fitting = { whole: ["STATUS"], spare: ["SOURCE"] };
    expect(fitToTerminal(rows, 70, fitting)[1]).toEqual([
      "a name that is …",
      "DEPLOYED, last apply failed",
      "archive 0123456…",
      "01234",
    ]);
    expect(fitToTerminal(rows, 50, fitting)[1]).toEqual([
      "a name that i…",
      "DEPLOYED, last apply failed",
      "01234",
    ]);
    expect(fitToTerminal(rows, 40, fitting)[1]).toEqual([
      "a name that…",
      "DEPLOYED, last app…",
      "01234",
    ]);
  });

  it("has ids shortened to their millisecond in a terminal, except those that share it", () => {
    const id = "01890a5d-ac96-7000-8000-00000000000a";
    const twins = ["01890a5d-ac97-7000-8000-00000000000b", "01890a5d-ac97-7fff-8000-00000000000c"];
    const rows = [id, id, ...twins, "7f3a5c0e9d2b4186", "-"].map((one) => ["a", one]);
    const shown = ["01890a5d-ac96", "01890a5d-ac96", ...twins, "7f3a5c0e9d2b4186", "-"];
    expect(shortenIds(rows, true)).toEqual(shown.map((one) => ["a", one]));
    expect(shortenIds(rows, false)).toBe(rows);
    expect(shortenIds([], true)).toEqual([]);
  });
});
