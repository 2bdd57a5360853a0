/** What a plan changes in one resource, attribute by attribute, before and after. */
import type { PlannedAttribute, PlannedChange } from "../../../protocol/plan-summary.ts";
import { attributesOf, attributeText, visible } from "../../../protocol/plan-text.ts";
import { html, type Html } from "../page/html.ts";

/** Returns null if nothing is known of the attributes. */
export function attributesView(change: PlannedChange): Html | null {
  const attributes = attributesOf(change);
  if (attributes.length === 0) return null;
  return html`<ul class="attributes">
    ${attributes.map(
      (attribute) =>
        html`<li>
          <code class="path">${visible(attribute.path)}</code> ${valuesOf(change, attribute)}
        </li>`,
    )}
  </ul>`;
}

function valuesOf({ action }: PlannedChange, attribute: PlannedAttribute): Html {
  const { before, after } = attributeText(action, attribute);
  const isMarked = attribute.sensitive || attribute.unknown;
  const old = before === undefined ? null : html`<del>${value(before, attribute.before)}</del>`;
  if (after === undefined) return html`${old}`;
  const next = isMarked
    ? html`<em>${after}</em>`
    : html`<ins>${value(after, attribute.after)}</ins>`;
  return html`${old}${old === null ? null : html` <span role="img" aria-label="becomes">→</span> `}${next}`;
}

/** Characters of a value on its line; a longer one is folded. */
const lineLength = 120;

/** A long text is folded, with its own line breaks. */
function value(text: string, own: unknown): Html {
  if (text.length <= lineLength) return html`${text}`;
  const whole = typeof own === "string" ? own.split("\n").map(visible).join("\n") : text;
  return html`<details class="long">
    <summary>${text.slice(0, lineLength).toWellFormed()}…</summary>
    <pre tabindex="0">${whole}</pre>
  </details>`;
}
