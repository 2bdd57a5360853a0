/** Long values. */
import { html, type Html } from "./html.ts";

/** Characters of a value on its line. */
const lineLength = 120;

/**
 * Returns a value on one line; of a longer one, and of one of many lines, the start, which opens the whole. `inLine`: how
 * the line is drawn. `whole`: the value with its own line breaks.
 */
export function folded(text: string, whole: string, inLine: (shown: string) => Html): Html {
  const [line = ""] = text.split("\n", 1);
  const start = line.slice(0, lineLength).toWellFormed();
  if (start === text) return inLine(text);
  return html`<details class="long">
    <summary>${inLine(`${start}…`)}</summary>
    <pre tabindex="0">${whole}</pre>
  </details>`;
}
