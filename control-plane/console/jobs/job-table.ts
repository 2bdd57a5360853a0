/** Jobs in a table. */
import type { JobSummary } from "../../services/jobs/views.ts";
import { html, type Html } from "../page/html.ts";
import { table } from "../page/table.ts";
import { ago, badge, between, waiting } from "../page/words.ts";

/** Jobs newest first, with what became of them. */
export const jobTable = (jobs: readonly JobSummary[], now: string): Html =>
  table(
    "Jobs",
    ["Job", "Configuration", "Status", "When", "Took", "What"],
    jobs.map((job) => [
      linkTo(job),
      nameOf(job),
      badge(job.status),
      ago(job.ended_at ?? job.created_at, now),
      job.started_at === null ? "–" : between(job.started_at, job.ended_at ?? now),
      html`<span class="clamp"
        >${job.error_message ?? (job.waiting_reason === null ? "" : waiting(job.waiting_reason))}</span
      >`,
    ]),
  );

/** The way to its page. */
export const linkTo = (job: JobSummary): Html =>
  html`<a href="/jobs/${job.id}">${job.job_type}</a>`;

/** What it runs, and the way there. */
export const nameOf = ({ name, configuration_id }: JobSummary): Html | string =>
  configuration_id === null
    ? (name ?? "–")
    : html`<a href="/configurations/${configuration_id}">${name ?? "its page"}</a>`;
