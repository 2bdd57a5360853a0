import { faultText } from "../../../protocol/words.ts";
import { isAt, type Form } from "./form.ts";
import { html, type Html } from "./html.ts";

interface Field {
  readonly name: string;
  readonly label: string;
  readonly hint?: Html | string;
  /** Where the API has it; the same as its name if it is missing. */
  readonly path?: string;
}

export const line = (
  form: Form,
  field: Field & {
    placeholder?: string;
    numeric?: boolean;
    required?: boolean;
    secret?: boolean;
    /** Of a day and a time of the clock. */
    moment?: boolean;
    /** Values that a browser offers; others are taken too. */
    offered?: readonly string[];
  },
): Html =>
  around(
    form,
    field,
    html`<input
        ${named(form, field)}
        ${field.numeric ? html`inputmode="numeric"` : null}
        ${field.secret ? html`type="password"` : null}
        ${field.moment ? html`type="datetime-local" min="2000-01-01T00:00" max="9999-12-31T23:59"` : null}
        value="${form.text(field.name)}"
        ${field.placeholder === undefined ? null : html`placeholder="${field.placeholder}"`}
        ${field.required ? html`required` : null}
        ${field.offered ? html`list="${idOf(form, field)}-offered"` : null}
        autocomplete="off"
        autocapitalize="none"
        spellcheck="false"
      />
      ${field.offered && html`<datalist id="${idOf(form, field)}-offered">${field.offered.map((one) => html`<option value="${one}"></option>`)}</datalist>`}`,
  );

export const lines = (
  form: Form,
  field: Field & { rows?: number; placeholder?: string; limit?: number },
): Html =>
  around(
    form,
    field,
    html`<textarea
      ${named(form, field)}
      rows="${field.rows ?? 2}"
      ${field.limit === undefined ? null : html`maxlength="${field.limit}"`}
      ${field.placeholder === undefined ? null : html`placeholder="${field.placeholder}"`}
      autocomplete="off"
      autocapitalize="none"
      spellcheck="false"
    >
${form.text(field.name)}</textarea>`,
  );

/** Offers the chosen value even if the list, cut to its newest, lacks it. */
export function choice(
  form: Form,
  field: Field,
  options: readonly (readonly [value: string, name: string])[],
): Html {
  const chosen = form.text(field.name);
  const isOffered = chosen === "" || options.some(([value]) => value === chosen);
  const all = isOffered ? options : [[chosen, chosen] as const, ...options];
  return around(
    form,
    field,
    html`<select ${named(form, field)}>
      ${all.map(
        ([value, name]) =>
          html`<option value="${value}" ${chosen === value ? html`selected` : null}>
            ${name}
          </option>`,
      )}
    </select>`,
  );
}

/** One of a few, all of them seen. `more`: what is shown of each while it is chosen. */
export const radios = (
  form: Form,
  { name, label }: Pick<Field, "name" | "label">,
  options: readonly (readonly [value: string, name: string, more?: Html])[],
): Html =>
  html`<fieldset class="radios">
      <legend>${label}</legend>
      ${options.map(
        ([value, words]) =>
          html`<label
            ><input
              type="radio"
              name="${name}"
              value="${value}"
              autocomplete="off"
              ${form.text(name) === value ? html`checked` : null}
            />
            ${words}</label
          >`,
      )}
    </fieldset>
    ${options.map(([value, , more]) => more && html`<div class="needed" data-for="${value}">${more}</div>`)}`;

export const tick = (form: Form, name: string, label: Html | string): Html =>
  html`<label class="tick"
    ><input
      type="checkbox"
      name="${name}"
      autocomplete="off"
      ${form.isOn(name) ? html`checked` : null}
    />
    <span>${label}</span></label
  >`;

/** `of` tells the jobs apart that a page can start. */
export const debugTick = (form: Form, of = ""): Html =>
  tick(form, "debug", `Keep a debug log${of}; it may contain secrets`);

/**
 * Why the form was refused: its fields say what is theirs, the rest stands here. `paths`: where the
 * form's fields are in the API. `current`: the page of the current values, of a form that can be
 * refused because they were changed meanwhile.
 */
export function trouble(
  { refusal }: Form,
  paths: readonly string[] = [],
  current?: string,
): Html | null {
  if (!refusal) return null;
  const errors = refusal.more.errors ?? [];
  const rest = errors.filter(({ path }) => !paths.some((at) => isAt(path, at)));
  const words =
    errors.length === 0
      ? [sentence(refusal.message)]
      : rest.map((fault) => sentence(faultText(fault)));
  const isStale = refusal.code === "changed_meanwhile" && current !== undefined;
  return html`<p class="error flow" role="alert" tabindex="-1" autofocus>
      Nothing was changed. ${words.length === 0 ? "See the marked fields below." : words.join(" ")}
    </p>
    ${
      isStale
        ? html`<p>
            <a href="${current}" target="_blank" rel="noopener">The current values, in a new tab</a>
          </p>`
        : null
    }`;
}

/** With a capital and a full stop. */
export const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?!]$/.test(text) ? "" : "."}`;

const idOf = (form: Form, { name }: Field): string => `${form.id}-${name}`;

const named = (form: Form, field: Field): Html => {
  const id = idOf(form, field);
  const wrong = form.wrong(field.path ?? field.name);
  const about = [
    ...(wrong === undefined ? [] : [`${id}-wrong`]),
    ...(field.hint === undefined ? [] : [`${id}-hint`]),
  ];
  return html`id="${id}" name="${field.name}"
  ${about.length === 0 ? null : html`aria-describedby="${about.join(" ")}"`}
  ${wrong === undefined ? null : html`aria-invalid="true"`}`;
};

const around = (form: Form, field: Field, control: Html): Html => {
  const id = idOf(form, field);
  const wrong = form.wrong(field.path ?? field.name);
  return html`<div class="field">
    <label for="${id}">${field.label}</label>
    ${control}
    ${wrong === undefined ? null : html`<span class="wrong" id="${id}-wrong">${sentence(wrong)}</span>`}
    ${field.hint === undefined ? null : html`<span class="hint" id="${id}-hint">${field.hint}</span>`}
  </div>`;
};

/** Fields side by side where there is room. */
export const columns = (...fields: readonly Html[]): Html =>
  html`<div class="columns">${fields}</div>`;

/** A question before what cannot be undone: opened by its words, without a script. */
export const ask = (words: string, inside: Html, isOpen = false): Html =>
  html`<details class="ask" ${isOpen ? html`open` : null}>
    <summary>${words}</summary>
    ${inside}
  </details>`;
