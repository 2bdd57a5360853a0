/** The outputs of a deployment. */
import type { Component } from "../../../protocol/configurations.ts";
import { html, type Html } from "../page/html.ts";

/** Name and value of each; a sensitive one has none. */
export const outputs = (components: readonly Component[]): Html[] =>
  components.map(
    ({ name, value, sensitive }) =>
      html`<dt>${name}</dt>
        <dd>
          ${sensitive ? html`<span class="soft">sensitive: not kept here</span>` : html`<code>${textOf(value)}</code>`}
        </dd>`,
  );

/** Formats a value: text unchanged, everything else as JSON. */
export const textOf = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");
