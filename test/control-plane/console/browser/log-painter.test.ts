import { describe, expect, it } from "vitest";
// @ts-expect-error: the scripts of the pages have their own tsconfig.
import { Painter as Untyped } from "../../../../control-plane/console/browser/log-painter.js";

type Piece = { readonly text: string; readonly look: string };
const Painter = Untyped as new () => { pieces(text: string): Piece[]; endLine(): void };

const escape = "\u001b";
/** Paints text that arrives in these pieces: `[look]text` for each stretch. */
const painted = (...texts: string[]): string => {
  const painter = new Painter();
  const pieces = texts.flatMap((text) => painter.pieces(text));
  return pieces.map(({ text, look }) => (look === "" ? text : `[${look}]${text}`)).join("|");
};

describe("the colours of a log", () => {
  it.each([
    ["bold and green", "[1m\u001b[32m+", "[bold ansi-green-fg]+"],
    ["both in one sequence", "[0;1;31mx", "[bold ansi-red-fg]x"],
    ["faint, italic, underlined", "[2;3;4mx", "[faint italic underline]x"],
    ["bright, on a background", "[91;44mx", "[ansi-bright-red-fg ansi-blue-bg]x"],
    ["one of the sixteen by number", "[38;5;9;48;5;2mx", "[ansi-bright-red-fg ansi-green-bg]x"],
    ["an unsupported colour, which is dropped", "[38;2;1;2;3;48;5;200mx", "x"],
    ["reset", "[31ma\u001b[0mb", "[ansi-red-fg]a|b"],
    ["reset without a number", "[31ma\u001b[mb", "[ansi-red-fg]a|b"],
    ["one colour after the other", "[31ma\u001b[39;42mb", "[ansi-red-fg]a|[ansi-green-bg]b"],
  ])("support %s", (_, text, shown) => {
    expect(painted(`${escape}${text}`)).toBe(shown);
  });

  it("continue in the next line and across chunks, wherever the text is split", () => {
    const text = `a${escape}[1;32mb\u001b[0mc`;
    const whole = painted(text).replaceAll("|", "");
    for (let at = 0; at <= text.length; at += 1) {
      const cut = painted(text.slice(0, at), text.slice(at));
      expect(cut.replace("[bold ansi-green-fg]|", "").replaceAll("|", "")).toBe(whole);
    }
    const painter = new Painter();
    painter.pieces(`${escape}[33mone`);
    painter.endLine();
    expect(painter.pieces("two")).toEqual([{ text: "two", look: "ansi-yellow-fg" }]);
  });

  it.each([
    ["a link", "\u001b]8;;https://x\u0007text\u001b]8;;\u001b\\", "text"],
    ["a title", "\u001b]0;owned\u0007text", "text"],
    [
      "a cleared line, a moved cursor",
      "\u001b[2Ksome more\u001b[?25l\u001b[10;3Htext",
      "some moretext",
    ],
    ["a short sequence and a lone escape", "\u001bMa\u001b(Bb\u001b\u001bMc", "abc"],
    ["a string that another sequence breaks off", "\u001bPq\u001b[1mx", "Pq|[bold]x"],
    ["carriage returns", "a\r\rb", "ab"],
  ])("survive other sequences, which are removed: %s", (_, text, shown) => {
    expect(painted(text)).toBe(shown);
  });

  it("never become markup", () => {
    const text = `<b onclick="x">&amp;\u001b[31"><script>m</script>`;
    expect(painted(text)).toBe(
      `<b onclick="x">&amp;|[31"><script>m</script>`.replace("|[31", "[31"),
    );
  });

  it("leave an overlong sequence as text", () => {
    const painter = new Painter();
    expect(painter.pieces(`${escape}[`)).toEqual([]);
    expect(painter.pieces("1".repeat(5000))).toEqual([{ text: `[${"1".repeat(5000)}`, look: "" }]);
    expect(painter.pieces("m")).toEqual([{ text: "m", look: "" }]);
    painter.pieces(`${escape}]8;;`);
    painter.endLine();
    expect(painter.pieces("next")).toEqual([{ text: "next", look: "" }]);
  });
});
