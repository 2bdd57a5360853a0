/** What a page says where there is nothing yet: what belongs there, and how to begin. */
import { html, type Html } from "./html.ts";
import { icon, type IconName } from "./icons.ts";
import { copyIcon, copyScript } from "./secret.ts";

interface Empty {
  readonly icon: IconName;
  readonly title: string;
  readonly text: Html | string;
  /** A line to copy into a shell. */
  readonly command?: string;
  readonly more?: Html | null;
}

/** `title` is no heading: the page has one. */
export const empty = ({ icon: picture, title, text, command, more = null }: Empty): Html =>
  html`<div class="empty">
    ${icon(picture)}
    <p><strong>${title}</strong></p>
    <p class="soft">${text}</p>
    ${command === undefined ? null : commandLine(command)} ${more}
  </div>`;

/** A command as it is typed, with a button that copies it. */
export const commandLine = (command: string): Html => {
  const id = command.replaceAll(/\W+/g, "-");
  return html`<div class="command">
    <code id="${id}">${command}</code>${copyIcon(id, "Copy the command")} ${copyScript}
  </div>`;
};
