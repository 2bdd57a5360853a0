/** The variable sets of a configuration or a zone: which apply, and which value comes from which. */
import type { SetsOf } from "../../services/variable-sets/attached.ts";
import type { VariableSetName } from "../../services/variable-sets/lists.ts";
import type { Inherited } from "../../domain/variable-sets.ts";
import { textOf } from "../configurations/outputs-view.ts";
import { choice, trouble } from "../page/fields.ts";
import type { Form } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { table } from "../page/table.ts";

export interface SetsViewModel extends SetsOf {
  readonly all: readonly VariableSetName[];
}

/** Values that are listed; the pages of the sets have all. */
const valuesShown = 200;
/** Characters of a value. */
const textShown = 200;

/** The section of a page at `path`. The form is that of attaching and detaching. */
export const attachedSets = (path: string, model: SetsViewModel, form: Form): Html => {
  const { sets, values, all } = model;
  const isZone = path.startsWith("/zones/");
  const known = new Set(sets.filter((set) => isZone || !isOfZone(set)).map(({ id }) => id));
  const free = all.filter(({ id }) => !known.has(id));
  const action = `${path}/variable-sets#variable-sets`;
  return html`<section aria-labelledby="variable-sets">
    <h2 id="variable-sets">Variable sets</h2>
    ${trouble(form, ["set"])}
    ${
      sets.length === 0
        ? html`<p class="soft">
            ${isZone ? "None is attached to the zone." : "None is attached to the configuration or its zone."}
            A <a href="/variable-sets">variable set</a> gives the same values to several
            configurations.
          </p>`
        : html`<p>
              ${isZone ? "A configuration's own value wins, then that of a set that is attached to it, then these in this order:" : "A value of the configuration itself wins, then the first of these sets that has the name:"}
            </p>
            <ol class="sets">
              ${sets.map((set) => attached(action, set, isZone || !isOfZone(set)))}
            </ol>
            <p class="soft">All of them win over .tfvars files and TF_VAR_… variables.</p>`
    }
    ${
      values === undefined
        ? html`<p class="soft">
            Their values are too long to be listed here: the pages of the sets have them.
          </p>`
        : values.length === 0
          ? null
          : valuesOf(values)
    }
    ${
      free.length === 0
        ? null
        : html`<form method="post" action="${action}" class="form row">
            ${choice(form, { name: "set", label: "Attach a variable set" }, [
              ["", "choose one"],
              ...free.map(({ id, name }) => [id, name] as const),
            ])}
            <button class="quiet" name="do" value="attach">Attach</button>
          </form>`
    }
  </section>`;
};

const isOfZone = ({ attached_to }: SetsOf["sets"][number]): boolean => attached_to === "zone";

const attached = (action: string, set: SetsOf["sets"][number], isHere: boolean): Html =>
  html`<li>
    <a href="/variable-sets/${set.id}">${set.name}</a>
    ${
      isHere
        ? html`<form method="post" action="${action}">
            <input type="hidden" name="set" value="${set.id}" />
            <button class="quiet" name="do" value="detach" aria-label="Detach ${set.name}">
              Detach
            </button>
          </form>`
        : html`<span class="soft">attached to the zone</span>`
    }
  </li>`;

const valuesOf = (values: readonly Inherited[]): Html =>
  html`${table(
    "Values from variable sets",
    ["Name", "Value", "Comes from", "Overridden by"],
    values
      .slice(0, valuesShown)
      .map(({ kind, name, value, set, overriddenBy }) => [
        html`<code>${name}</code>${kind === "environment" ? " (environment)" : null}`,
        valueOf(value),
        `${set.name} (of the ${set.attached_to})`,
        overriddenBy === undefined
          ? "–"
          : overriddenBy === "configuration"
            ? "the configuration's own value"
            : overriddenBy.name,
      ]),
  )}
  ${
    values.length > valuesShown
      ? html`<p class="soft">
          … and ${values.length - valuesShown} more on the pages of the sets.
        </p>`
      : null
  }`;

const valueOf = (value: Inherited["value"]): Html => {
  if (typeof value !== "string" && value.sensitive === true)
    return html`<span class="soft">sensitive: never shown</span>`;
  const text = typeof value === "string" ? value : textOf(value.value);
  const shown = text.length > textShown ? `${text.slice(0, textShown).toWellFormed()}…` : text;
  return html`<span class="clamp value">${shown}</span>`;
};
