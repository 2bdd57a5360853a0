/** Tabs: the parts of a thing, each a page of its own with its own address. */
import { html, type Html } from "./html.ts";

export interface Tab {
  readonly path: string;
  readonly name: string;
  /** How many things are in it; nothing is shown of an unknown number. */
  readonly count?: number | string | undefined;
}

/** `at`: the path of the one that is shown. `label` tells the tabs from the other navigation. */
export const tabs = (label: string, at: string, all: readonly Tab[]): Html =>
  html`<nav class="tabs" aria-label="${label}">
    ${all.map(
      ({ path, name, count }) =>
        html`<a href="${path}" ${path === at ? html`aria-current="page"` : null}
          >${name}${count === undefined ? null : html` <span class="number">${count}</span>`}</a
        >`,
    )}
  </nav>`;
