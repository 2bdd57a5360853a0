import type { JobSummary } from "../../services/jobs/views.ts";
import { empty } from "../page/empty.ts";
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
          ? searchedUntil === undefined
            ? noneOf(filter)
            : html`<p class="soft">No such job among those searched so far.</p>`
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
    return empty({
      icon: "list-checks",
      title: "No job yet",
      text: html`A job plans or deploys a configuration. Start one on the page of a configuration in
        <a href="/zones">its zone</a>, or in a directory of Terraform files:`,
      command: "windlass up",
    });
  const isReversed = since !== undefined && until !== undefined && since > until;
  return html`<p class="soft">
    No job ${isReversed ? `can match: ${since} is later than ${until}` : "matches"}.
    <a href="/jobs">Show all</a>
  </p>`;
}
