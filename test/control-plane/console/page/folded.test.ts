import { expect, test } from "vitest";
import { folded } from "../../../../control-plane/console/page/folded.ts";
import { dom } from "../../../helpers/console/forms.ts";
import { html } from "../../../../control-plane/console/page/html.ts";

const drawn = (text: string) => folded(text, text, (shown) => html`<code>${shown}</code>`).text;

test("a short value is one line", () => {
  expect(drawn("x".repeat(120))).toBe(`<code>${"x".repeat(120)}</code>`);
});

test("a long value, and one of many lines, opens from its start", () => {
  for (const [text, start] of [
    ["x".repeat(121), "x".repeat(120)],
    ["-----BEGIN\nMIIB\n", "-----BEGIN"],
    [`${"x".repeat(119)}🙂`, `${"x".repeat(119)}\uFFFD`],
  ] as const) {
    const shown = drawn(text);
    expect(dom(shown).querySelector("summary > code")?.text).toBe(`${start}…`);
    expect(dom(shown).querySelector("pre[tabindex=0]")?.text).toBe(text);
  }
});
