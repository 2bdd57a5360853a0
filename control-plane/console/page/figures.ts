/** How a thing stands: a few figures at the head of its page, and what they are made of. */
import { html, type Html } from "./html.ts";

export const figures = (all: readonly (Html | null)[], below: Html | null = null): Html =>
  html`<section class="standing" aria-label="How it stands">
    <dl>${all}</dl>
    ${below}
  </section>`;

export const figure = (what: string, value: Html | string, more: Html | string = ""): Html =>
  html`<div>
    <dt>${what}</dt>
    <dd>
      <strong>${value}</strong>
      <span class="soft">${more}</span>
    </dd>
  </div>`;
