/** The fleet: one sentence of state, what needs the reader, what runs, and every configuration. */
import type { JobSummary } from "../../services/jobs/views.ts";
import type { Worker } from "../../../protocol/workers.ts";
import { empty } from "../page/empty.ts";
import { html, type Html } from "../page/html.ts";
import { icon } from "../page/icons.ts";
import { table } from "../page/table.ts";
import { between, count, waiting } from "../page/words.ts";
import { linkTo, nameOf } from "../jobs/job-table.ts";
import { fleetView, type Fleet } from "./fleet-view.ts";
import { inboxView, itemsOf, type Inbox } from "./inbox-view.ts";

export interface RunningJob {
  readonly job: JobSummary;
  readonly step: string | null;
  readonly line: string | null;
  /** How many resources it has changed. */
  readonly changed: number;
}

export interface Overview extends Inbox {
  /** How many run and wait, counted up to `countLimit` and one: the lists show the newest. */
  readonly runningCount: number;
  readonly queuedCount: number;
  /** How many configurations have drifted, counted as those. */
  readonly driftedCount: number;
  readonly running: readonly RunningJob[];
  readonly fleet: Fleet;
  /** False for a reader with roles in zones only. */
  readonly seesWorkers: boolean;
  /** Whether the reader may add a worker, and create zones and configurations. */
  readonly mayAdd: boolean;
  readonly mayCreateZone: boolean;
  /** In a zone at least. */
  readonly mayConfigure: boolean;
  readonly now: string;
}

/** Counted exactly up to here: the page must cost the same however many there are. */
export const countLimit = 1000;
/** Rows of jobs that run, and of jobs that wait. */
export const jobsShown = 20;

export const overviewPage = (overview: Overview): Html => {
  const { workers, seesWorkers, running, queued, fleet, now } = overview;
  const items = itemsOf(overview, now);
  const isNew = fleet.tiles.length + workers.length + running.length + queued.length === 0;
  return html`<h1>Overview</h1>
    <div id="overview" data-live>
      ${isNew ? null : sentence(overview, items.length)} ${inboxView(overview, items, now)}
      ${isNew ? firstVisit(overview) : null} ${running.length === 0 ? null : runningView(overview)}
      ${queued.length === 0 ? null : waitingView(overview)}
      ${workers.length === 0 && seesWorkers && !isNew ? noWorker(overview) : null}
      ${fleet.tiles.length === 0 && !isNew ? noConfiguration(overview) : fleetView(fleet, now)}
    </div>`;
};

const some = (number: number): string =>
  number > countLimit ? `over ${countLimit.toLocaleString("en-US")}` : String(number);

/** `2 things need you: 1 job is running, none is waiting, 3 of 4 workers are online.` */
function sentence(overview: Overview, items: number): Html {
  const { workers, seesWorkers, runningCount: running, queuedCount: queued } = overview;
  const { driftedCount: drifted } = overview;
  const online = workers.filter(({ status }) => status === "ONLINE").length;
  const draining = workers.filter(({ status }) => status === "DRAINING").length;
  const isCalm = items === 0;
  const jobs =
    running === 0 ? "no job is running" : `${some(running)} ${are(running, "job")} running`;
  const others = queued === 0 ? "none is waiting" : `${some(queued)} ${are(queued)} waiting`;
  const machines = !seesWorkers
    ? []
    : online === workers.length
      ? [`${online} ${are(online, "worker")} online`]
      : [`${online} of ${count(workers.length, "worker")} ${are(online)} online`];
  return html`<p class="state ${isCalm ? "calm" : ""}">
    ${icon(isCalm ? "circle-check" : "user-check")}
    <span
      ><strong
        >${isCalm ? "Nothing needs you" : `${count(items, "thing")} ${items === 1 ? "needs" : "need"} you`}</strong
      >:
      ${[
        jobs,
        others,
        ...machines,
        ...(draining > 0 ? [`${draining} draining`] : []),
        ...(drifted > 0
          ? [
              `${some(drifted)} ${drifted === 1 ? "configuration has" : "configurations have"} drifted`,
            ]
          : []),
      ].join(", ")}.</span
    >
  </p>`;
}

/** `job is`, `jobs are`. */
const are = (number: number, thing?: string): string =>
  `${thing === undefined ? "" : `${thing}${number === 1 ? "" : "s"} `}${number === 1 ? "is" : "are"}`;

const runningView = ({ running, runningCount, workers, now }: Overview): Html =>
  html`<h2>Running</h2>
    ${table(
      "Running jobs",
      ["Configuration", "Job", "For", "Progress", "Worker"],
      running.map(({ job, step, line, changed }) => [
        nameOf(job),
        linkTo(job),
        job.started_at === null ? "about to start" : between(job.started_at, now),
        html`<span class="progress"
          ><span
            >${step === null ? null : html`<strong>${step}</strong>`}
            ${progressText(job, changed)}</span
          >
          <span class="soft">${line}</span></span
        >`,
        workerOf(job, workers),
      ]),
    )}
    ${allOf("PROCESSING", "running", running.length, runningCount)}`;

const waitingView = ({ queued, queuedCount, now }: Overview): Html =>
  html`<h2>Waiting</h2>
    ${table(
      "Waiting jobs",
      ["Configuration", "Job", "For", "Why"],
      queued
        .slice(0, jobsShown)
        .map((job) => [nameOf(job), linkTo(job), between(job.created_at, now), waiting(job) ?? ""]),
    )}
    ${allOf("QUEUED", "waiting", Math.min(queued.length, jobsShown), queuedCount)}`;

const allOf = (status: string, word: string, shown: number, all: number): Html | null =>
  all <= shown ? null : html`<p><a href="/jobs?status=${status}">All ${word} jobs</a></p>`;

/** `7 of 12 resources`, from the first that is done; the total is known of a plan that is applied. */
function progressText({ changes }: JobSummary, changed: number): string | null {
  if (!changed) return null;
  const { create = 0, update = 0, replace = 0, delete: deleted = 0 } = changes ?? {};
  const total = create + update + replace + deleted;
  return total >= changed
    ? `${changed} of ${count(total, "resource")}`
    : count(changed, "resource");
}

const workerOf = ({ worker_id }: JobSummary, workers: readonly Worker[]): Html | string => {
  const worker = workers.find(({ id }) => id === worker_id);
  return worker === undefined ? "–" : html`<a href="/workers/${worker.id}">${worker.name}</a>`;
};

const firstVisit = (overview: Overview): Html =>
  empty({
    icon: "terminal",
    title: "Deploy your first Terraform files",
    text: "Windlass plans and applies Terraform on your own machines, and shows here what is deployed. In a directory of Terraform files, run:",
    command: "windlass up",
    more: html`<ol>
      <li>${addWorker(overview)} on a machine where terraform may run.</li>
      <li>
        ${
          overview.mayCreateZone
            ? html`Run <code>windlass up</code>, or <a href="/zones">create a zone</a> and in it a
                configuration.`
            : "Ask a deployer of the team to create a zone, and in it a configuration."
        }
      </li>
      <li>Review the plan here, and deploy it.</li>
    </ol>`,
  });

const noConfiguration = ({ mayConfigure }: Overview): Html =>
  empty({
    icon: "layers",
    title: "No configuration yet",
    text: mayConfigure
      ? html`A configuration is a directory of Terraform files and what became of it. Create one
          with this command in the directory, or <a href="/zones">in a zone</a>:`
      : "Ask a deployer of the team to create a zone, and in it a configuration.",
    ...(mayConfigure ? { command: "windlass up" } : {}),
  });

const noWorker = (overview: Overview): Html =>
  empty({
    icon: "server",
    title: "No worker yet",
    text: html`Jobs wait until a worker takes them. ${addWorker(overview)} on a machine where
    terraform may run.`,
  });

const addWorker = ({ mayAdd }: Overview): Html =>
  mayAdd
    ? html`<a href="/workers">Add a worker</a>`
    : html`Ask an admin of the team to add a worker`;
