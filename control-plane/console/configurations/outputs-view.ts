/** The outputs of a deployment. */
import type { JobOutput } from "../../../protocol/outputs.ts";
import { html, type Html } from "../page/html.ts";

/** An output of a job or a configuration. */
interface Output extends JobOutput {
  readonly name: string;
}

/**
 * Name and value of each; a sensitive one has none. `state`: the address of the state, which has
 * the values that are too large to be kept.
 */
export const outputs = (all: readonly Output[], state?: string): Html[] =>
  all.map(
    (output) =>
      html`<dt>${output.name}</dt>
        <dd>${shownValue(output, state)}</dd>`,
  );

function shownValue({ value, sensitive, omitted_bytes: bytes }: Output, state?: string): Html {
  if (sensitive) return html`<span class="soft">sensitive: not kept here</span>`;
  if (value !== undefined) return html`<code>${textOf(value)}</code>`;
  const where = state && html`. <a href="${state}">The state</a> has it`;
  return typeof bytes === "number"
    ? html`<span class="soft"
        >${bytes.toLocaleString("en-US")} bytes: too large to be kept here${where}</span
      >`
    : html`<span class="soft">not kept here${where}</span>`;
}

/** Formats a value: text unchanged, everything else as JSON. */
export const textOf = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");
