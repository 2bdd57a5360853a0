/** A page with one thing to do: sign-in, the approval of a client, an invitation, an error. */
import { html, type Html } from "./html.ts";
import { icon, type IconName } from "./icons.ts";

interface Door {
  /** `mark`: Windlass itself. */
  readonly sign: IconName | "mark";
  readonly tone?: "good" | "bad" | "warn";
  readonly title: Html | string;
  /** One sentence of what this is. */
  readonly text?: Html | string | null;
}

export const door = ({ sign, tone, title, text = null }: Door, ...more: Html[]): Html =>
  html`<div class="door">
    <span class="sign-${tone ?? sign}">${icon(sign)}</span>
    <h1>${title}</h1>
    ${text === null ? null : html`<p class="soft">${text}</p>`} ${more}
  </div>`;
