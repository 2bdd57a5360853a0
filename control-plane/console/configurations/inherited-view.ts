/** The values that a configuration gets from its variable sets. */
import type { Inherited } from "../../domain/variable-sets.ts";
import { html, type Html } from "../page/html.ts";
import { table } from "../page/table.ts";
import { textOf } from "./outputs-view.ts";

/** Shows which value comes from which set; nothing without sets. */
export const inheritedView = (values: readonly Inherited[]): Html | null =>
  values.length === 0
    ? null
    : html`<section aria-labelledby="inherited">
        <h2 id="inherited">Values from variable sets</h2>
        ${table(
          "Values from variable sets",
          ["Name", "Value", "Variable set", "Overridden by"],
          values.map(({ kind, name, value, set, overriddenBy }) => [
            html`<code>${name}</code>${kind === "environment" ? " (environment)" : null}`,
            typeof value !== "string" && value.sensitive === true
              ? html`<span class="soft">sensitive: never shown</span>`
              : html`<span class="clamp"
                  >${typeof value === "string" ? value : textOf(value.value)}</span
                >`,
            `${set.name} (of the ${set.attached_to})`,
            overriddenBy === undefined
              ? "–"
              : overriddenBy === "configuration"
                ? "the configuration's own value"
                : overriddenBy.name,
          ]),
        )}
      </section>`;
