import type { FailedJob } from "../../../protocol/failed-job.ts";
import { statusWords } from "../../../protocol/words.ts";
import { html, type Html } from "../page/html.ts";
import { ago, badge } from "../page/words.ts";

/** The status, coloured as failed while a failure is unresolved, else as a warning of checks. */
export function standingBadge(one: Parameters<typeof statusWords>[0]): Html {
  const words = statusWords(one);
  if (words === one.status) return badge(words);
  const kind = one.failed_job ? "FAILED" : "WARNING";
  return badge(kind, `${words.charAt(0)}${words.slice(1).toLowerCase()}`);
}

/** `last DEPLOY failed 3 min ago`, with a link to the job. */
export const lastFailed = ({ id, job_type, status, ended_at }: FailedJob, now: string): Html =>
  html`<a href="/jobs/${id}">last ${job_type}</a>
    ${status === "CANCELLED" ? "was cancelled" : "failed"} ${ago(ended_at, now)}`;
