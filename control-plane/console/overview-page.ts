/** What is going on: workers, what runs, what waits and why, what ended. */
import type { Job } from "../../protocol/jobs.ts";
import type { Worker } from "../../protocol/workers.ts";
import { html, type Html } from "./html.ts";
import { table } from "./table.ts";
import { badge, between, clock, waiting } from "./words.ts";

export interface Overview {
  readonly workers: readonly Worker[];
  readonly running: readonly Job[];
  readonly queued: readonly Job[];
  readonly recent: readonly Job[];
  readonly now: string;
}

/** The page that stays open all day. */
export const overviewPage = ({ workers, running, queued, recent, now }: Overview): Html => {
  const online = workers.filter(({ status }) => status === "ONLINE").length;
  return html`<h1>Overview</h1>
    <div id="overview" data-live>
      <ul class="counts">
        ${tile(running.length, "running")} ${tile(queued.length, "waiting")}
        ${tile(online, workers.length === online ? "workers online" : `of ${workers.length} workers online`)}
      </ul>
      <h2>Running</h2>
      ${
        running.length === 0
          ? html`<p class="soft">Nothing runs at the moment.</p>`
          : table(
              "Running jobs",
              ["Job", "Configuration", "Worker", "For"],
              running.map((job) => [
                link(job),
                nameOf(job),
                workers.find(({ id }) => id === job.worker_id)?.name ?? "–",
                job.started_at === null ? "about to start" : between(job.started_at, now),
              ]),
            )
      }
      <h2>Waiting</h2>
      ${
        queued.length === 0
          ? html`<p class="soft">Nothing waits.</p>`
          : table(
              "Waiting jobs",
              ["Job", "Configuration", "For", "Why"],
              queued.map((job) => [
                link(job),
                nameOf(job),
                between(job.created_at, now),
                job.waiting_reason === null ? "" : waiting(job.waiting_reason),
              ]),
            )
      }
      <h2>Workers</h2>
      ${workers.length === 0 ? noWorker : table("Workers", ["Name", "Status", "Version", "Host", "Jobs", "Last heartbeat"], workers.map(workerRow))}
      <h2>Ended lately</h2>
      ${
        recent.length === 0
          ? html`<p class="soft">
              No job has ended yet. One starts on the page of a configuration, in its
              <a href="/zones">zone</a>; <code>windlass demo</code> shows everything at once.
            </p>`
          : html`${jobTable(recent)}
              <p><a href="/jobs">All jobs</a></p>`
      }
    </div>`;
};

/** Jobs newest first, with what became of them. */
export const jobTable = (jobs: readonly Job[]): Html =>
  table(
    "Jobs",
    ["Job", "Configuration", "Status", "Created", "Took", "What"],
    jobs.map((job) => [
      link(job),
      nameOf(job),
      badge(job.status),
      clock(job.created_at),
      job.started_at !== null && job.ended_at !== null
        ? between(job.started_at, job.ended_at)
        : "–",
      html`<span class="clamp"
        >${job.error_message ?? (job.waiting_reason === null ? "" : waiting(job.waiting_reason))}</span
      >`,
    ]),
  );

const noWorker = html`<p class="soft">
  No worker yet. One is needed to run anything: <a href="/workers">add one</a> where terraform may
  run.
</p>`;

const workerRow = ({
  id,
  name,
  status,
  version,
  hostname,
  active_job_ids,
  capacity,
  last_heartbeat,
}: Worker) => [
  html`<a href="/workers/${id}">${name}</a>`,
  badge(status),
  version ?? "–",
  hostname ?? "–",
  capacity === null ? String(active_job_ids.length) : `${active_job_ids.length} of ${capacity}`,
  last_heartbeat === null ? "never" : clock(last_heartbeat),
];

const tile = (number: number, word: string): Html =>
  html`<li class="${number === 0 ? "zero" : ""}"><strong>${String(number)}</strong> ${word}</li>`;

const link = (job: Job): Html => html`<a href="/jobs/${job.id}">${job.job_type}</a>`;

const nameOf = ({ config_snapshot, configuration_id }: Job): Html | string => {
  const name = config_snapshot?.name ?? "–";
  return configuration_id === null
    ? name
    : html`<a href="/configurations/${configuration_id}">${name}</a>`;
};
