/** A secret that is shown once, and buttons that copy text. */
import { script } from "../assets.ts";
import { html, type Html } from "./html.ts";
import { icon } from "./icons.ts";

export const secret = (text: string): Html =>
  html`<p class="secret"><code id="secret">${text}</code></p>
    ${copyButton("secret", "Copy the token")}`;

/** Copies the text of an element. The script that does it also shows the button. */
export const copyButton = (id: string, words: string): Html =>
  html`<p>
    <button type="button" class="quiet" data-copy="${id}" hidden>${words}</button>
    <span role="status" class="soft"></span>
  </p>`;

/** A small icon beside the text. */
export const copyIcon = (id: string, words: string): Html =>
  html`<button
      type="button"
      class="copy"
      data-copy="${id}"
      aria-label="${words}"
      title="${words}"
      hidden
    >
      ${icon("copy")}
    </button>
    <span role="status" class="soft"></span>`;

/** For a page with such buttons. */
export const copyScript = script("copy.js");
