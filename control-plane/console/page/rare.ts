/** What is done rarely to a thing: a row for each in `.rare`, at the end of its page. */
import { ask, choice, trouble } from "./fields.ts";
import type { Form, FormsOf } from "./form.ts";
import { html, type Html } from "./html.ts";

/** `id` is that of the heading. `text`: what it does, or why it cannot be done. */
export const row = (
  { id, title }: { readonly id: string; readonly title: string },
  text: Html | string | null,
  form: Html,
): Html =>
  html`<section aria-labelledby="${id}">
    <div>
      <h2 id="${id}">${title}</h2>
      ${text === null ? null : html`<p class="soft">${text}</p>`}
    </div>
    <div>${form}</div>
  </section>`;

/** Enables or disables the thing at `path`. `texts`: what follows from each. */
export const switchSection = (
  path: string,
  thing: string,
  isEnabled: boolean,
  forms: FormsOf,
  texts: Readonly<Record<"enable" | "disable", string>>,
): Html => {
  const verb = isEnabled ? "disable" : "enable";
  const title = isEnabled ? "Disable" : "Enable";
  return row(
    { id: "switch", title },
    texts[verb],
    html`${trouble(forms(verb))}
      <form method="post" action="${path}/${verb}">
        <button class="quiet">${title} the ${thing}</button>
      </form>`,
  );
};

/** Makes a new secret of the thing at `path`. `label`: of how long the old one is valid. */
export const rotateForm = (path: string, label: string, forms: FormsOf): Html => {
  const form = forms("rotate", { overlap_seconds: "86400" });
  return html`<form method="post" action="${path}/rotate" class="form row">
    ${trouble(form, ["overlap_seconds"])}
    ${choice(form, { name: "overlap_seconds", label }, [
      ["0", "no time: it stops now"],
      ["3600", "an hour"],
      ["86400", "a day"],
      ["604800", "a week"],
    ])}
    <button class="quiet">Make a new secret</button>
  </form>`;
};

/** Deletes the thing at `path`. `text`: what follows from it; `obstacle`: why it cannot be done now. */
export const deleteSection = (
  path: string,
  thing: string,
  form: Form,
  { text, obstacle }: { readonly text: string; readonly obstacle: Html | string | null },
): Html =>
  row(
    { id: "delete", title: "Delete" },
    obstacle ?? text,
    html`${trouble(form)}
    ${
      obstacle === null
        ? ask(
            `Delete this ${thing}…`,
            html`<form method="post" action="${path}/delete">
              <button class="danger">Delete the ${thing}</button>
            </form>`,
          )
        : null
    }`,
  );
