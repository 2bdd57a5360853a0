import type { Source } from "../../../protocol/configurations.ts";
import { html, type Html } from "../page/html.ts";

/** A source whose inline files may be left out. */
type SourceSummary = Exclude<Source, { type: "inline" }> | { readonly type: "inline" };

export function sourceInWords(source: SourceSummary): string {
  switch (source.type) {
    case "git": {
      const place = source.path ? ` (${source.path})` : "";
      return `${source.url}${place} at ${source.ref ?? "its default branch"}`;
    }
    case "archive":
      return `archive ${source.sha256.slice(0, 12)}`;
    case "inline":
      return "inline files";
  }
}

/** More characters of inline files are not shown, to keep a page small that is often redrawn. */
const shownCharacters = 64 * 1024;

export function sourceView(source: Source): Html {
  if (source.type !== "inline") return html`${sourceInWords(source)}`;
  const files = Object.entries(source.files);
  const total = files.reduce((sum, [, text]) => sum + text.length, 0);
  return html`${files.map(([path, text]) =>
    total > shownCharacters ? html`<code>${path}</code> ` : file(path, text),
  )}`;
}

const file = (path: string, text: string): Html =>
  html`<details>
    <summary><code>${path}</code></summary>
    <pre class="log" tabindex="0">${text === "" ? "(empty)" : text}</pre>
  </details>`;
