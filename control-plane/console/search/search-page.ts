/** The search over names: a page, of which the palette of the console shows the results. */
import type { Found } from "../../services/search/search.ts";
import type { Runs } from "../../services/jobs/runs.ts";
import { shortStrip } from "../jobs/run-strip.ts";
import { html, type Html } from "../page/html.ts";

const titles: Readonly<Record<Found["kind"], string>> = {
  configurations: "Configurations",
  zones: "Zones",
  workers: "Workers",
  identities: "Identities",
  "variable-sets": "Variable sets",
};

/** What was found; the form is in the frame of every page. `runs`: of the configurations. */
export const searchPage = (text: string, found: readonly Found[], runs: Runs, now: string): Html =>
  html`<h1>Search</h1>
    <div id="found">
      ${found.length === 0 ? html`<p>${text === "" ? "Type a part of a name above." : `Nothing has “${text}” in its name.`}</p>` : null}
      ${found.map(
        ({ kind, things }) =>
          html`<section aria-label="${titles[kind]}">
            <h2>${titles[kind]}</h2>
            <ul class="found">
              ${things.map(({ id, name }) => html`<li><a href="/${kind}/${id}">${name}</a> ${shortStrip(runs.get(id), now)}</li>`)}
            </ul>
          </section>`,
      )}
    </div>
    ${
      text === ""
        ? null
        : html`<p>
            <a href="/jobs?${new URLSearchParams({ name: text }).toString()}"
              >Jobs of configurations with this name</a
            >
          </p>`
    }`;
