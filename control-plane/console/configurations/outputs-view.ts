/** The outputs of a deployment. */
import { html, type Html } from "../page/html.ts";

/** An output as a job or a configuration has it. */
interface Output {
  readonly name: string;
  readonly value?: unknown;
  readonly sensitive?: unknown;
  readonly omitted_bytes?: unknown;
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
  if (sensitive === true) return html`<span class="soft">sensitive: not kept here</span>`;
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
