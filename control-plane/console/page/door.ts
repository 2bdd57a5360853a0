/** A page with one thing to do: sign-in, the approval of a client, an invitation, an error. */
import { html, type Html } from "./html.ts";
import { icon, type IconName } from "./icons.ts";

interface Door {
  /** `mark`: Windlass itself. */
  readonly sign: IconName | "mark";
  readonly tone?: "good" | "bad" | "warn";
  readonly title: string;
  /** Whether the title may change while it is read, which is then announced. */
  readonly isLive?: boolean;
  /** One sentence of what this is. */
  readonly text?: Html | string | null;
}

export const door = (
  { sign, tone, title, isLive = false, text = null }: Door,
  ...more: Html[]
): Html =>
  html`<div class="door">
    <span class="sign-${tone ?? sign}">${icon(sign)}</span>
    ${isLive ? html`<div role="status"><h1>${title}</h1></div>` : html`<h1>${title}</h1>`}
    ${text === null ? null : html`<p class="soft">${text}</p>`} ${more}
  </div>`;
