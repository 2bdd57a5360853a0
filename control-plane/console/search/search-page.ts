/** The search over names: a page, of which the palette of the console shows the results. */
import { searchedNames, type SearchHits } from "../../services/search/search.ts";
import { jobTypeWords } from "../../../protocol/words.ts";
import type { JobSummary } from "../../services/jobs/views.ts";
import type { Runs } from "../../services/jobs/runs.ts";
import { driftedBadge } from "../configurations/drift-view.ts";
import { shortStrip } from "../jobs/run-strip.ts";
import { html, type Html } from "../page/html.ts";
import { jobBadge } from "../page/words.ts";

const titles: Readonly<Record<SearchHits["kind"], string>> = {
  configurations: "Configurations",
  zones: "Zones",
  workers: "Workers",
  identities: "Identities",
  "variable-sets": "Variable sets",
};

interface Results {
  readonly text: string;
  readonly found: readonly SearchHits[];
  /** By the beginning of their ids. */
  readonly jobs: readonly JobSummary[];
  readonly runs: Runs;
  /** The configurations that have drifted. */
  readonly drifted: ReadonlySet<string>;
}

export const searchPage = ({ text, found, jobs, runs, drifted }: Results, now: string): Html =>
  html`<h1>Search</h1>
    <div id="found">
      ${found.every(({ things }) => things.length === 0) && jobs.length === 0 ? html`<p>${text === "" ? "Type a part of a name, or the beginning of a job’s id, above." : `Nothing has “${text}” in its name, and no job’s id begins so.`}</p>` : null}
      ${found.map(
        ({ kind, things, isPartial }) =>
          html`<section aria-label="${titles[kind]}">
            <h2>${titles[kind]}</h2>
            ${isPartial ? html`<p>There are more than are searched: the first ${searchedNames.toLocaleString("en-US")} were.</p>` : null}
            <ul class="found">
              ${things.map(({ id, name }) => html`<li><a href="/${kind}/${id}">${name}</a> ${drifted.has(id) ? driftedBadge : null} ${shortStrip(runs.get(id), now)}</li>`)}
            </ul>
          </section>`,
      )}
      ${
        jobs.length === 0
          ? null
          : html`<section aria-label="Jobs">
              <h2>Jobs</h2>
              <ul class="found">
                ${jobs.map(
                  (job) =>
                    html`<li>
                      <a href="/jobs/${job.id}"
                        >${jobTypeWords(job.job_type, job)}
                        ${job.name === null ? "" : `of ${job.name}`} <small>${job.id}</small></a
                      >
                      ${jobBadge(job)}
                    </li>`,
                )}
              </ul>
            </section>`
      }
    </div>
    ${
      text === ""
        ? null
        : html`<p>
            <a href="/jobs?${new URLSearchParams({ name: text }).toString()}"
              >${
                found.some(({ kind, things }) => kind === "configurations" && things.length > 0)
                  ? "Jobs of configurations with this name"
                  : "Jobs of configurations that had this name, such as deleted ones"
              }</a
            >
          </p>`
    }`;
