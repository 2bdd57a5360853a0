/** Where a configuration's terraform files come from, in words and in full. */
import type { Source } from "../../protocol/configurations.ts";
import { html, type Html } from "./html.ts";
import { count } from "./words.ts";

/** In one line. */
export function sourceInWords(source: Source): string {
  switch (source.type) {
    case "git": {
      const place = source.path ? ` (${source.path})` : "";
      return `${source.url}${place} at ${source.ref ?? "its default branch"}`;
    }
    case "archive":
      return `archive ${source.sha256.slice(0, 12)}`;
    case "inline":
      return count(Object.keys(source.files).length, "inline file");
  }
}

/** With the text of inline files. */
export const sourceView = (source: Source): Html =>
  source.type === "inline"
    ? html`${Object.entries(source.files).map(
        ([path, text]) =>
          html`<details>
            <summary><code>${path}</code></summary>
            <pre class="log" tabindex="0">${text === "" ? "(empty)" : text}</pre>
          </details>`,
      )}`
    : html`${sourceInWords(source)}`;
