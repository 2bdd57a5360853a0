/** The list of all jobs. */
import type { JobSummary } from "../../services/jobs/views.ts";
import { html, type Html } from "../page/html.ts";
import { clock } from "../page/words.ts";
import { jobTable } from "./job-table.ts";
import { addressOf, filterForm, type JobsFilter, type WrongDays } from "./jobs-filter.ts";

export interface JobsViewModel {
  readonly jobs: readonly JobSummary[];
  readonly filter: JobsFilter;
  /** Parts of the address that filter nothing. */
  readonly ignored: readonly string[];
  readonly wrongDays: WrongDays;
  readonly configuration: { readonly id: string; readonly name: string } | undefined;
  readonly next: string | undefined;
  /** Until when jobs were searched, if not all were. */
  readonly searchedUntil: string | undefined;
  readonly email: string;
  readonly now: string;
}

export const jobsPage = (model: JobsViewModel): Html => {
  const { jobs, filter, ignored, next, searchedUntil } = model;
  return html`<h1>Jobs</h1>
    ${filterForm(filter, model.wrongDays, model.email, model.configuration)}
    ${
      ignored.length === 0
        ? null
        : html`<p class="notice flow">
            This address asks for something that is not a filter, which is ignored:
            ${ignored.map((one) => html`<code>${one}</code> `)}
          </p>`
    }
    <div id="jobs" data-live>
      ${
        jobs.length === 0
          ? html`<p class="soft">
              ${searchedUntil === undefined ? noneOf(filter) : "No such job among those searched so far."}
            </p>`
          : jobTable(jobs, model.now)
      }
      ${
        searchedUntil === undefined
          ? null
          : html`<p class="soft">The search ended at jobs created ${clock(searchedUntil)}.</p>`
      }
    </div>
    ${
      next === undefined
        ? null
        : html`<p>
            <a href="${addressOf(filter, next)}"
              >${searchedUntil === undefined ? "Older jobs" : "Search older jobs"}</a
            >
          </p>`
    }`;
};

function noneOf(filter: JobsFilter): Html {
  const { since, until } = filter;
  if (Object.keys(filter).length === 0)
    return html`No job yet. Start a job on the page of its configuration:
      <a href="/zones">Zones</a>`;
  const isReversed = since !== undefined && until !== undefined && since > until;
  return html`No job ${isReversed ? `can match: ${since} is later than ${until}` : "matches"}.
    <a href="/jobs">Show all</a>`;
}
