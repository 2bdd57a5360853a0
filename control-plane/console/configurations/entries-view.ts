import type { Configuration, Variable } from "../../../protocol/configurations.ts";
import type { ValueMarks } from "../../domain/snapshot.ts";
import { placeOf } from "../../domain/snapshot-values.ts";
import { line, lines, tick, trouble } from "../page/fields.ts";
import { Form, markOf, type FormsOf } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { textOf } from "./outputs-view.ts";

export const entryKinds = ["variables", "environment", "backend_config"] as const;
export type Entries = (typeof entryKinds)[number];

export type Valued = Pick<Configuration, Entries>;

const words = {
  variables: {
    title: "Variables",
    one: "variable",
    none: "No variables. Add the ones that the terraform files declare.",
    hint: "Text is passed unchanged. A value that begins with [ or { is JSON. It wins over .tfvars files.",
    placeholder: "region",
  },
  environment: {
    title: "Environment",
    one: "environment variable",
    none: "No environment variables. Providers read their settings from them.",
    hint: "Text under a name that ends in TOKEN, SECRET, PASSWORD, KEY or CREDENTIALS is sensitive.",
    placeholder: "DATADOG_HOST",
  },
  backend_config: {
    title: "Backend settings",
    one: "setting",
    none: "No backend settings. Add the ones that the declared backend leaves open.",
    hint: "Terraform writes this value to plan files.",
    placeholder: "bucket",
  },
};

/** `path`: the page of the configuration or variable set. */
export const entriesView = (
  path: string,
  thing: Valued,
  marks: ValueMarks,
  kind: Entries,
  forms: FormsOf,
): Html => {
  const entries = Object.entries(entriesOf(thing, kind));
  const asked = forms(kind);
  const form = asked.refusal && asked;
  const isGone = form !== undefined && entries.every(([name]) => name !== form.text("name"));
  const isAdding = form?.text("do") === "add" || (isGone && form.text("do") === "set");
  const changing = isAdding ? undefined : form?.text("name");
  const { title, one, none } = words[kind];
  return html`<section aria-labelledby="${kind}">
    <h2 id="${kind}">${title}</h2>
    ${form && !isAdding && isGone ? trouble(form) : null}
    ${
      entries.length === 0
        ? html`<p class="soft">${none}</p>`
        : html`<div class="entries">
            ${entries.map(([name, entry], index) => known(path, kind, name, entry, marks, index, changing === name ? form : undefined))}
          </div>`
    }
    <details class="ask" ${isAdding ? html`open` : null}>
      <summary>Add ${kind === "environment" ? "an" : "a"} ${one}…</summary>
      ${adding(path, kind, isAdding && form ? form : new Form({}, undefined, `${kind}-new`))}
    </details>
  </section>`;
};

export function entriesOf(thing: Valued, kind: Entries): Record<string, Variable> {
  const texts = thing[kind] ?? {};
  return Object.fromEntries(
    Object.entries(texts).map(([name, one]: [string, Variable | string]) => [
      name,
      typeof one === "string" ? { value: one } : one,
    ]),
  );
}

/** The fields that the form of one begins with. */
const drawnAs = ({ value, sensitive }: Variable): Record<string, string> =>
  sensitive === true ? { sensitive: "on" } : { value: textOf(value) };

/** What a user who saves or removes one has seen of it: of a secret, its mark. */
export const seenAs = (
  entry: Variable,
  kind: Entries,
  name: string,
  marks: ValueMarks,
): Record<string, string> => ({ ...drawnAs(entry), mark: marks.get(placeOf(kind, name)) ?? "" });

const known = (
  path: string,
  kind: Entries,
  name: string,
  entry: Variable,
  marks: ValueMarks,
  index: number,
  refused: Form | undefined,
): Html => {
  const isSecret = entry.sensitive === true;
  const form = refused ?? new Form(drawnAs(entry), undefined, `${kind}-${index}`);
  return html`<details class="entry" ${refused === undefined ? null : html`open`}>
    <summary>
      <span class="pair"
        ><code>${name}</code> ${
          isSecret
            ? html`<span class="soft">sensitive: never shown</span>`
            : html`<span class="clamp value">${textOf(entry.value)}</span>`
        }</span
      >
    </summary>
    <form method="post" action="${actionOf(path, kind)}" class="form">
      ${trouble(form, ["value"], path)}
      <input type="hidden" name="name" value="${name}" />
      <input type="hidden" name="seen" value="${markOf(seenAs(entry, kind, name, marks))}" />
      ${valueField(form, kind, isSecret)} ${sensitiveBox(form)}
      <div class="actions">
        <button name="do" value="set">Save</button>
        <button name="do" value="remove" class="quiet">Remove</button>
      </div>
    </form>
  </details>`;
};

const actionOf = (path: string, kind: Entries): string => `${path}/${kind}#${kind}`;

const adding = (path: string, kind: Entries, form: Form): Html =>
  html`<form method="post" action="${actionOf(path, kind)}" class="form">
    ${trouble(form, ["name", "value"])}
    ${line(form, { name: "name", label: "Name", placeholder: words[kind].placeholder, required: true })}
    ${valueField(form, kind, false)} ${sensitiveBox(form)}
    <p><button name="do" value="add">Add</button></p>
  </form>`;

const valueField = (form: Form, kind: Entries, isSecret: boolean): Html =>
  lines(form, {
    name: "value",
    label: isSecret ? "New value" : "Value",
    rows: Math.min(12, form.text("value").split("\n").length + 1),
    hint: isSecret
      ? `Empty: keep the current value, which stays sensitive. ${words[kind].hint}`
      : words[kind].hint,
  });

const sensitiveBox = (form: Form): Html =>
  tick(form, "sensitive", "Sensitive: stored encrypted, never shown, given only to the worker");
