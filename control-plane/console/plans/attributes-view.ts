/** What a plan changes in one resource, attribute by attribute, before and after. */
import type {
  OutputChange,
  PlannedAttribute,
  PlannedChange,
} from "../../../protocol/plan-summary.ts";
import {
  attributesOf,
  attributeText,
  differenceStart,
  visible,
} from "../../../protocol/plan-text.ts";
import { folded } from "../page/folded.ts";
import { html, type Html } from "../page/html.ts";

/** Returns null if nothing is known of the attributes. `isOver`: the apply has ended. */
export function attributesView(change: PlannedChange, isOver: boolean): Html | null {
  const attributes = attributesOf(change);
  if (attributes.length === 0) return null;
  return html`<ul class="attributes">
    ${attributes.map(
      (attribute) =>
        html`<li>
          <code class="path">${visible(attribute.path)}</code>
          ${valuesOf(change, attribute, isOver)}
        </li>`,
    )}
  </ul>`;
}

/** Returns an output with what changes in its value, on one line unless parts of it change. */
export function outputView(output: OutputChange, isOver: boolean): Html {
  const { name, sensitive, attributes = [] } = output;
  const [first, ...others] = attributes;
  if (!first) return html`<code>${name}</code>${sensitive ? " (sensitive)" : null}`;
  if (others.length === 0 && first.path === "")
    return html`<code>${name}</code> ${valuesOf(output, first, isOver)}`;
  return html`<code>${name}</code>
    <ul class="attributes">
      ${attributes.map((one) => html`<li><code class="path">${visible(one.path)}</code> ${valuesOf(output, one, isOver)}</li>`)}
    </ul>`;
}

function valuesOf(
  { action }: Pick<PlannedChange, "action">,
  attribute: PlannedAttribute,
  isOver: boolean,
): Html {
  const { before, after } = attributeText(action, attribute, isOver);
  const from = differenceStart(before, after);
  const old = before === undefined ? null : value("del", before, attribute.before, from);
  if (after === undefined) return html`${old}`;
  const isMarked = attribute.sensitive || attribute.unknown;
  const next = isMarked ? html`<em>${after}</em>` : value("ins", after, attribute.after, from);
  return html`${old}${old === null ? null : html` <span role="img" aria-label="becomes">→</span> `}${next}`;
}

/** A value with its own line breaks where it is folded. */
function value(tag: "del" | "ins", text: string, own: unknown, from: number): Html {
  const whole = typeof own === "string" ? own.split("\n").map(visible).join("\n") : text;
  const inLine = (shown: string): Html =>
    tag === "del" ? html`<del>${shown}</del>` : html`<ins>${shown}</ins>`;
  return folded(text, whole, inLine, from);
}
