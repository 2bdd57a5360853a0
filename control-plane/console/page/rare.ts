/** What is done rarely to a thing: a row for each in `.rare`, at the end of its page. */
import { ask, trouble } from "./fields.ts";
import type { Form } from "./form.ts";
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
