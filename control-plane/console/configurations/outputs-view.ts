import { withVisibleDirections } from "../../../common/control-sequences.ts";
import { plainJson } from "../../../common/exact-json.ts";
import { omittedText, type JobOutput } from "../../../protocol/outputs.ts";
import { folded } from "../page/folded.ts";
import { html, type Html } from "../page/html.ts";
import { copyIcon, copyScript } from "../page/secret.ts";
import { table } from "../page/table.ts";

interface Output extends JobOutput {
  readonly name: string;
}

/** `omitted`: how many more there are. `state`: its address, for values too large to be kept. */
export const outputs = (all: readonly Output[], omitted = 0, state?: string): Html | null =>
  all.length + omitted === 0
    ? null
    : html`<h2>Outputs</h2>
        ${table(
          "Outputs",
          ["Name", "Value"],
          all.map((output, index) => [
            html`<code>${output.name}</code>`,
            output.value === undefined || output.sensitive
              ? shownValue(output, state)
              : html`<div class="copied">
                  <div id="output-${index}">${shownValue(output, state)}</div>
                  ${copyIcon(`output-${index}`, `Copy ${output.name}`)}
                </div>`,
          ]),
        )}
        ${copyScript}
        ${omitted === 0 ? null : html`<p class="soft">${omittedText(omitted)}${whereIs(state, "them")}.</p>`}`;

function shownValue({ value, sensitive, omitted_bytes: bytes }: Output, state?: string): Html {
  if (sensitive)
    return html`<span class="soft">sensitive: not kept here${whereIs(state, "it")}</span>`;
  if (value !== undefined) {
    const whole = typeof value === "string" ? value : plainJson(value, 2);
    return folded(
      withVisibleDirections(textOf(value)),
      withVisibleDirections(whole),
      (shown) => html`<code>${shown}</code>`,
    );
  }
  const where = whereIs(state, "it");
  return typeof bytes === "number"
    ? html`<span class="soft"
        >${bytes.toLocaleString("en-US")} bytes: too large to be kept here${where}</span
      >`
    : html`<span class="soft">not kept here${where}</span>`;
}

const whereIs = (state: string | undefined, what: string): Html | undefined =>
  state === undefined ? undefined : html`. <a href="${state}">The state</a> has ${what}`;

/** Formats a value: text unchanged, everything else as JSON. */
export function textOf(value: unknown): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : plainJson(value);
}
