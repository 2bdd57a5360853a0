/** Icons of one set (Lucide), drawn from the file that `/assets/icons.svg` serves. */
import { html, type Html } from "./html.ts";

/** Those of the set that the pages use. */
export const iconNames = [
  "ban",
  "box",
  "braces",
  "cable",
  "check",
  "chevron-down",
  "chevrons-up-down",
  "circle-check",
  "circle-dashed",
  "circle-user",
  "clock",
  "copy",
  "git-merge",
  "git-pull-request",
  "git-pull-request-closed",
  "key-round",
  "layers",
  "layout-dashboard",
  "list-checks",
  "loader",
  "lock",
  "menu",
  "pause",
  "plug",
  "power-off",
  "scroll-text",
  "search",
  "server",
  "settings",
  "terminal",
  "trash-2",
  "triangle-alert",
  "user-check",
  "users",
  "x",
] as const;

export type IconName = (typeof iconNames)[number];

/** An icon beside a word that says the same: readers of the screen skip it. `mark`: Windlass itself. */
export const icon = (name: IconName | "mark"): Html =>
  html`<svg class="icon" aria-hidden="true"><use href="/assets/icons.svg#${name}"></use></svg>`;
