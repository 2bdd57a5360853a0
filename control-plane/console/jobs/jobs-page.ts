/** The list of all jobs. */
import type { JobStatus } from "../../../protocol/jobs.ts";
import type { JobSummary } from "../../services/jobs/views.ts";
import { jobStatuses } from "../../../protocol/jobs.ts";
import { html, type Html } from "../page/html.ts";
import { jobTable } from "./job-table.ts";

/** A page of the list; `next` continues it. */
export const jobsPage = (
  jobs: readonly JobSummary[],
  status: JobStatus | undefined,
  next: string | undefined,
  now: string,
): Html =>
  html`<h1>Jobs</h1>
    <nav class="filter" aria-label="Filter by status">
      ${filter("All", "/jobs", status === undefined)}
      ${jobStatuses.map((one) => filter(one, `/jobs?status=${one}`, one === status))}
    </nav>
    <div id="jobs" data-live>
      ${
        jobs.length === 0
          ? html`<p class="soft">
              ${status === undefined ? "No job yet" : `No job is ${status}`}. Start a job on the
              page of its configuration: <a href="/zones">Zones</a>
            </p>`
          : jobTable(jobs, now)
      }
    </div>
    ${
      next === undefined
        ? null
        : html`<p>
            <a href="/jobs?${status === undefined ? "" : `status=${status}&`}before=${next}"
              >Older jobs</a
            >
          </p>`
    }`;

const filter = (name: string, path: string, isOn: boolean): Html =>
  html`<a href="${path}" ${isOn ? html`aria-current="true"` : null}>${name}</a> `;
