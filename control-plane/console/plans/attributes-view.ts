/** What a plan changes in one resource or output, a row for each attribute. */
import type {
  OutputChange,
  PlannedAttribute,
  PlannedChange,
} from "../../../protocol/plan-summary.ts";
import {
  attributesOf,
  attributeText,
  differenceStart,
  partOf,
  visible,
} from "../../../protocol/plan-text.ts";
import { folded } from "../page/folded.ts";
import { html, type Html } from "../page/html.ts";
import { lineDiff, linesOf, marked } from "./line-diff.ts";

/** Returns null if nothing is known of the attributes. `isOver`: the apply has ended. */
export function attributesView(change: PlannedChange, isOver: boolean): Html | null {
  const attributes = attributesOf(change);
  if (attributes.length === 0) return null;
  const forcing = new Set(change.replaced_by);
  return html`<ul class="attributes">
    ${attributes.map((attribute) =>
      row(change, attribute, attribute.path, isOver, forcing.has(pathInReason(attribute))),
    )}
  </ul>`;
}

/** The attributes that force a replacement are listed as `storage.0.type`. */
const pathInReason = ({ path }: PlannedAttribute): string =>
  path.replaceAll(/\[(\d+)\]|\["([\w-]+)"\]/g, ".$1$2");

/** Names of what forces the replacement that have no row of their own. */
export function otherReasons(change: PlannedChange): readonly string[] {
  const shown = new Set(attributesOf(change).map(pathInReason));
  return change.replaced_by?.filter((path) => !shown.has(path)) ?? [];
}

/** What changes in outputs. */
export const outputsView = (outputs: readonly OutputChange[], isOver: boolean): Html =>
  html`<ul class="attributes outputs">
    ${outputs.map((output) => {
      const { name, sensitive, attributes = [] } = output;
      if (attributes.length === 0)
        return row(output, sensitive ? { path: name, sensitive } : { path: name }, name, isOver);
      return attributes.map((attribute) =>
        row(output, attribute, partOf(name, attribute.path), isOver),
      );
    })}
  </ul>`;

const signs = { create: "+", delete: "−", update: "~" } as const;
const words = { create: "added", delete: "removed", update: "changed" } as const;

/** `shown`: its path from where the reader is. */
function row(
  change: Pick<PlannedChange, "action">,
  attribute: PlannedAttribute,
  shown: string,
  isOver: boolean,
  isForcing = false,
): Html {
  const look = lookOf(change.action, attribute);
  return html`<li data-look="${look}">
    <span
      class="sign"
      ${look === change.action ? html`aria-hidden="true"` : html`role="img" aria-label="${words[look]}"`}
      >${signs[look]}</span
    >
    <code class="path">${visible(shown)}</code>
    <div class="values">
      ${valuesOf(look, attribute, isOver)}
      ${isForcing ? html`<span class="forces">forces the replacement</span>` : null}
    </div>
  </li>`;
}

type Look = keyof typeof signs;

/** An attribute that was null is added, and one that will be null is removed. */
function lookOf(action: PlannedChange["action"], attribute: PlannedAttribute): Look {
  if (action === "create" || action === "delete") return action;
  const { before = null, after = null, sensitive, unknown } = attribute;
  if (sensitive || (before === null && after === null && !unknown)) return "update";
  if (before === null) return "create";
  return after === null && !unknown ? "delete" : "update";
}

function valuesOf(look: Look, attribute: PlannedAttribute, isOver: boolean): Html | null {
  const { sensitive, unknown, large_numbers: numbers } = attribute;
  const { before, after } = attributeText(look, attribute, isOver);
  const isPlain = !sensitive && !unknown && !numbers?.length;
  if (isPlain && before !== undefined && after !== undefined) {
    const [old, next] = [linesOf(attribute.before), linesOf(attribute.after)];
    const diff = old || next ? lineDiff(old ?? [before], next ?? [after]) : null;
    if (diff) return diff;
  }
  const from = differenceStart(before, after);
  const old = before === undefined ? null : value("del", before, attribute.before, from, after);
  if (after === undefined) return old;
  const next =
    sensitive || unknown
      ? html`<em>${after}</em>`
      : value("ins", after, attribute.after, from, before);
  return html`${old}${old === null ? null : html` <span role="img" aria-label="becomes">→</span> `}${next}`;
}

/** A value on its line, which opens the lines that it has. */
function value(
  tag: "del" | "ins",
  text: string,
  own: unknown,
  from: number,
  other: string | undefined,
): Html {
  const whole = linesOf(own)?.map(visible).join("\n") ?? text;
  const inLine = (shown: string): Html => {
    const body = shown === text ? marked(text, other, String) : shown;
    return tag === "del" ? html`<del>${body}</del>` : html`<ins>${body}</ins>`;
  };
  return folded(text, whole, inLine, from);
}
