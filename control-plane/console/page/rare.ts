/** What is done rarely to a thing: a row for each in `.rare`, at the end of its page. */
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
