/** What is going on: workers, what runs, what waits and why, what ended. */
import type { Runs } from "../../services/jobs/runs.ts";
import type { JobSummary } from "../../services/jobs/views.ts";
import type { Worker } from "../../../protocol/workers.ts";
import { html, type Html } from "../page/html.ts";
import { jobTable, linkTo, nameOf } from "../jobs/job-table.ts";
import { addressOf } from "../jobs/jobs-filter.ts";
import { shortStrip } from "../jobs/run-strip.ts";
import { attentionView, type Attention } from "./attention-view.ts";
import { waitingView, type Waiting } from "../approvals/waiting-view.ts";
import { table } from "../page/table.ts";
import { workerTable } from "../workers/workers-page.ts";
import { between, count, waiting } from "../page/words.ts";

/** A job that runs, and how far it has come. */
export interface RunningJob {
  readonly job: JobSummary;
  readonly step: string | null;
  readonly line: string | null;
  /** How many resources it has changed; undefined of the jobs for which this is not counted. */
  readonly changed: number | undefined;
}

export interface Overview extends Attention {
  /** What waits for approvals, in all spaces of the reader. */
  readonly waiting: Waiting;
  /** How many jobs each worker holds. */
  readonly held: ReadonlyMap<string, number>;
  /** How many run and wait, as words: the lists show the newest. */
  readonly runningCount: string;
  readonly queuedCount: string;
  readonly running: readonly RunningJob[];
  /** The newest ended jobs, newest first. */
  readonly recent: readonly JobSummary[];
  readonly runs: Runs;
  /** Whether the reader may add a worker, and create zones and configurations. */
  readonly mayAdd: boolean;
  readonly mayConfigure: boolean;
  /** The highest published release. */
  readonly latest: string | null;
  readonly now: string;
}

export const overviewPage = (overview: Overview): Html => {
  const { workers, running, queued, recent, latest, now } = overview;
  const online = workers.filter(({ status }) => status === "ONLINE").length;
  const draining = workers.filter(({ status }) => status === "DRAINING").length;
  const isNew = workers.length + running.length + queued.length + recent.length === 0;
  return html`<h1>Overview</h1>
    <div id="overview" data-live>
      <ul class="counts">
        ${tile(overview.runningCount, "running")} ${tile(overview.queuedCount, "waiting")}
        ${tile(String(online), workers.length === online ? `${online === 1 ? "worker" : "workers"} online` : `of ${workers.length} workers online${draining > 0 ? `, ${draining} draining` : ""}`)}
      </ul>
      ${waitingView(overview.waiting, now)} ${isNew ? firstSteps(overview) : null}
      ${attentionView(overview, now)}
      <h2>Running</h2>
      ${
        running.length === 0
          ? html`<p class="soft">No job is running.</p>`
          : table(
              "Running jobs",
              ["Job", "Configuration", "For", "Progress", "Worker"],
              running.map(({ job, step, line, changed }) => [
                linkTo(job),
                nameOf(job),
                job.started_at === null ? "about to start" : between(job.started_at, now),
                html`<span class="progress"
                  ><span
                    >${step === null ? null : html`<strong>${step}</strong>`}
                    ${resourcesText(job, changed)}</span
                  >
                  <span class="soft">${line}</span></span
                >`,
                workerOf(job, workers),
              ]),
            )
      }
      <h2>Waiting</h2>
      ${
        queued.length === 0
          ? html`<p class="soft">No job is waiting.</p>`
          : table(
              "Waiting jobs",
              ["Job", "Configuration", "For", "Why"],
              queued.map((job) => [
                linkTo(job),
                nameOf(job),
                between(job.created_at, now),
                waiting(job) ?? "",
              ]),
            )
      }
      <h2>Workers</h2>
      ${workers.length === 0 ? noWorker(overview) : workerTable(workers, overview.held, latest, now)}
      <h2>Recently ended</h2>
      ${
        recent.length === 0
          ? html`<p class="soft">No job has ended yet.</p>`
          : html`${recentTable(recent, overview.runs, now)}
              <p><a href="/jobs">All jobs</a></p>`
      }
    </div>`;
};

/** How many of the newest ended jobs are read; the newest of each configuration has a row. */
export const recentJobs = 30;
/** Rows of ended jobs, each with a strip of last runs, which reads jobs from all over the history. */
export const recentRows = 12;

/** The newest job of each configuration, and how many of these jobs came before it. */
function recentTable(jobs: readonly JobSummary[], runs: Runs, now: string): Html {
  const groups = Map.groupBy(jobs, groupOf);
  const newest = [...groups.values()].slice(0, recentRows).map((group) => group[0]!);
  const earlier = (job: JobSummary): Html | null => {
    const [, ...others] = groups.get(groupOf(job)) ?? [];
    if (others.length === 0) return null;
    const failed = others.filter(({ status }) => status === "FAILED").length;
    const { configuration_id: id, name } = job;
    const all = id === null ? addressOf({ name: name ?? "" }) : `/configurations/${id}/jobs`;
    return html` <a class="soft" href="${all}"
      >and ${others.length} earlier${failed === 0 ? null : `, ${failed} failed`}</a
    >`;
  };
  const more = (job: JobSummary): Html =>
    html`${earlier(job)} ${shortStrip(runs.get(job.configuration_id ?? ""), now)}`;
  const rows = groups.size > recentRows ? `; ${recentRows} of ${groups.size} rows` : "";
  return html`<p class="soft">
      The last ${recentJobs} jobs, one row for each configuration${rows}.
    </p>
    ${jobTable(newest, now, "Recently ended jobs", more)}`;
}

/** Jobs of a deleted configuration have only its name. */
const groupOf = ({ id, configuration_id, name }: JobSummary): string =>
  configuration_id ?? (name === null ? id : `name ${name}`);

/** `7 of 12 resources`, from the first that is done; the total is known of a plan that is applied. */
function resourcesText({ changes }: JobSummary, changed: number | undefined): string | null {
  if (!changed) return null;
  const { create = 0, update = 0, replace = 0, delete: deleted = 0 } = changes ?? {};
  const total = create + update + replace + deleted;
  return total >= changed
    ? `${changed} of ${count(total, "resource")}`
    : count(changed, "resource");
}

const firstSteps = ({ mayAdd, mayConfigure }: Overview): Html =>
  html`<section class="notice flow">
    <p>To run your first job:</p>
    <ol>
      <li>
        ${mayAdd ? html`<a href="/workers">Add a worker</a>` : "Ask an admin of the team to add a worker"}
        on a machine where terraform may run.
      </li>
      <li>
        ${
          mayConfigure
            ? html`<a href="/zones">Create a zone</a>, and in it a configuration`
            : "Ask a deployer of the team to create a zone, and in it a configuration"
        }
        that names your terraform files.
      </li>
      <li>
        ${
          mayConfigure
            ? "Plan the configuration, review the changes, and deploy that plan."
            : "On the page of the configuration you then see its plans and deployments."
        }
      </li>
    </ol>
    <p>Or try everything on your own machine: <code>windlass demo</code></p>
  </section>`;

const workerOf = ({ worker_id }: JobSummary, workers: readonly Worker[]): Html | string => {
  const worker = workers.find(({ id }) => id === worker_id);
  return worker === undefined ? "–" : html`<a href="/workers/${worker.id}">${worker.name}</a>`;
};

const noWorker = ({ mayAdd }: Overview): Html =>
  html`<p class="soft">
    No worker yet. Jobs need one:
    ${mayAdd ? html`<a href="/workers">add a worker</a>` : "ask an admin of the team to add a worker"}
    on a machine where terraform may run.
  </p>`;

const tile = (number: string, word: string): Html =>
  html`<li class="${number === "0" ? "zero" : ""}"><strong>${number}</strong> ${word}</li>`;
