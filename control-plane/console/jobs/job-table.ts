import { changesText, jobTypeWords } from "../../../protocol/words.ts";
import type { JobSummary } from "../../services/jobs/views.ts";
import { html, type Html } from "../page/html.ts";
import { table } from "../page/table.ts";
import { ago, between, endedAt, jobBadge, waiting } from "../page/words.ts";

/** Jobs newest first, with what became of them. */
export const jobTable = (jobs: readonly JobSummary[], now: string): Html =>
  table(
    "Jobs",
    ["Job", "Configuration", ...heads],
    jobs.map((job) => [linkTo(job), nameOf(job), ...cellsOf(job, now)]),
  );

export const jobsOfOne = (jobs: readonly JobSummary[], now: string, label: string): Html =>
  table(
    label,
    ["Job", ...heads],
    jobs.map((job) => [linkTo(job), ...cellsOf(job, now)]),
  );

const heads = ["Status", "Created", "Took", "Who", "What"];

const cellsOf = (job: JobSummary, now: string): (Html | string)[] => [
  jobBadge(job),
  ago(job.created_at, now),
  tookOf(job, now),
  job.created_by ?? "–",
  html`<span class="clamp">${whatOf(job)}</span>`,
];

/** How long it ran, with its end as a tooltip. */
function tookOf({ started_at, ended_at }: JobSummary, now: string): Html | string {
  if (started_at === null) return "–";
  const took = between(started_at, ended_at ?? now);
  return ended_at === null ? took : endedAt(ended_at, took);
}

/** What is worth knowing of a job in one line. Never empty if it has ended. */
function whatOf(job: JobSummary): Html | string | null {
  const { status, job_type, error_message, waiting_reason, changes } = job;
  if (error_message !== null) return error_message;
  if (waiting_reason !== null) return waiting(job);
  if (status === "CANCELLED") return cancelText(job);
  if (changes !== null) return changesText(changes);
  return status === "SUCCESS" ? succeeded[job_type] : "";
}

/** `cancelled by ada@example.com before it started`. */
export function cancelText({ cancel, started_at }: Pick<JobSummary, "cancel" | "started_at">) {
  if (cancel === null) return "cancelled by its runner";
  const by = cancel.by === null ? "" : ` by ${cancel.by}`;
  return `cancelled${by}${started_at === null ? " before it started" : ""}`;
}

/** For jobs whose runner reported no plan. */
const succeeded = {
  PLAN: "planned",
  DEPLOY: "applied",
  DESTROY: "everything destroyed",
  DESTROY_WORKER: "what the worker was deployed with is destroyed",
} as const satisfies Record<JobSummary["job_type"], string>;

export const linkTo = (job: JobSummary): Html =>
  html`<a href="/jobs/${job.id}">${jobTypeWords(job.job_type, job)}</a>`;

/** What it runs, and the way there. */
export const nameOf = ({ name, configuration_id }: JobSummary): Html | string =>
  configuration_id === null
    ? (name ?? "–")
    : html`<a href="/configurations/${configuration_id}">${name ?? "its page"}</a>`;
