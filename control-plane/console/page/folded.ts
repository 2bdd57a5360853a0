import { html, type Html } from "./html.ts";

/** Characters of a value on its line. */
const lineLength = 120;

/**
 * Returns a value on one line; of a longer one, and of one of many lines, the start, which opens the whole. `inLine`: how
 * the line is drawn. `whole`: the value with its own line breaks. `from`: where the line begins.
 */
export function folded(
  text: string,
  whole: string,
  inLine: (shown: string) => Html,
  from = 0,
): Html {
  const [line = ""] = text.split("\n", 1);
  const part = line.slice(from, from + lineLength).toWellFormed();
  if (part === text) return inLine(text);
  const start = from === 0 ? "" : "…";
  const end = from + part.length === text.length ? "" : "…";
  return html`<details class="long">
    <summary>${inLine(`${start}${part}${end}`)}</summary>
    <pre tabindex="0">${whole}</pre>
  </details>`;
}
