/** Icons of one set (Lucide), drawn from one file. */
import { asset } from "../assets.ts";
import { html, type Html } from "./html.ts";
import type { iconNames } from "./icon-names.ts";

export type IconName = (typeof iconNames)[number];

/** An icon beside a word that says the same: readers of the screen skip it. `mark`: Windlass itself. */
export const icon = (name: IconName | "mark"): Html =>
  html`<svg class="icon" aria-hidden="true"><use href="${asset("icons.svg")}#${name}"></use></svg>`;
