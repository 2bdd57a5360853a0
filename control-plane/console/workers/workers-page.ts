import type { ApprovalRule } from "../../../protocol/approvals.ts";
import { neverStarted, startCommand, workerStatusWords } from "../../../protocol/worker-words.ts";
import { tokenOverlap } from "../../../protocol/limits.ts";
import type { Worker } from "../../../protocol/workers.ts";
import type { Run, Runs } from "../../services/jobs/runs.ts";
import type { JobSummary } from "../../services/jobs/views.ts";
import { isBehind } from "../../domain/worker.ts";
import { ask } from "../page/fields.ts";
import type { Form } from "../page/form.ts";
import { empty } from "../page/empty.ts";
import { html, type Html } from "../page/html.ts";
import { jobTable, linkTo } from "../jobs/job-table.ts";
import { runChart } from "../jobs/run-chart.ts";
import { shortStrip } from "../jobs/run-strip.ts";
import { figure, figures } from "../page/figures.ts";
import { row } from "../page/rare.ts";
import { table } from "../page/table.ts";
import { ago, badge, clock, count, sinceThen } from "../page/words.ts";
import { teardownView } from "./worker-form.ts";

/** All workers, and the way to one more. `latest` is the highest published release. */
export const workersPage = (
  workers: readonly Worker[],
  held: ReadonlyMap<string, number>,
  latest: string | null,
  now: string,
  runs: Runs,
): Html =>
  html`<div class="page-head">
      <div>
        <h1>Workers</h1>
        <p class="soft">
          A worker runs jobs on a machine of yours. Adding one creates a registration token for one
          worker, valid for one hour.
        </p>
      </div>
      <form method="post" action="/workers/register"><button>Add a worker</button></form>
    </div>
    <div id="workers" data-live>
      ${
        workers.length === 0
          ? empty({
              icon: "server",
              title: "No worker yet",
              text: "Jobs need one: add it on a machine where terraform may run and that can reach your clouds. It connects to this server, so it needs no open port.",
            })
          : workerTable(workers, held, latest, now, runs)
      }
    </div>`;

/** Workers and how they do. `held` is how many jobs each of them holds; `runs`: its last ones. */
const workerTable = (
  workers: readonly Worker[],
  held: ReadonlyMap<string, number>,
  latest: string | null,
  now: string,
  runs?: Runs,
): Html =>
  table(
    "Workers",
    [
      "Name",
      "Status",
      "Load",
      "Version",
      "Host",
      "Labels",
      "Last heartbeat",
      ...(runs === undefined ? [] : ["Last runs"]),
    ],
    workers.map((worker) => {
      const { id, name, hostname, labels } = worker;
      const isOurs = worker.mode !== "cloud-hosted";
      return [
        html`<a href="/workers/${id}">${name}</a> ${kindOf(worker)}`,
        badge(workerStatusWords(worker)),
        isOurs ? loadOf(worker, held.get(id) ?? 0) : "–",
        versionOf(worker, latest),
        hostname ?? "–",
        labels.join(", ") || "–",
        neverStarted(worker)
          ? html`never: <a href="/workers/${id}">start its runner</a>`
          : isOurs
            ? heard(worker, now)
            : "–",
        ...(runs === undefined ? [] : [shortStrip(runs.get(id), now) ?? "–"]),
      ];
    }),
  );

/** What is special about it. */
const kindOf = ({ mode, ephemeral }: Worker): Html | null => {
  if (mode === "cloud-hosted") return html`<span class="badge">Cloud-hosted</span>`;
  return ephemeral
    ? html`<span class="badge" title="It is removed when its runner leaves">Ephemeral</span>`
    : null;
};

/** How many of the jobs that it can run at once it has; the bar says the same. */
const loadOf = ({ capacity }: Worker, running: number): Html | string =>
  capacity === null
    ? String(running)
    : html`<span class="load"
        ><progress max="${capacity}" value="${running}" aria-hidden="true"></progress> ${running} of
        ${capacity}</span
      >`;

const heard = ({ last_heartbeat }: Worker, now: string): Html | string =>
  last_heartbeat === null ? "never" : ago(last_heartbeat, now);

const versionOf = ({ version }: Worker, latest: string | null): Html | string =>
  version !== null && latest !== null && isBehind(version, latest)
    ? html`${version} <span class="behind">behind ${latest}</span>`
    : (version ?? "–");

export interface WorkerViewModel {
  readonly worker: Worker;
  /** Its newest jobs, those that it runs among them. */
  readonly jobs: readonly JobSummary[];
  /** The last ones, with durations and changes. */
  readonly runs: readonly Run[];
  readonly latest: string | null;
  /** The name of the configuration that deployed it. */
  readonly deployedBy: string | undefined;
  readonly rule: ApprovalRule | null;
  readonly url: string;
  readonly now: string;
}

export const workerPage = (model: WorkerViewModel, teardown: Form): Html => {
  const { worker, jobs } = model;
  return html`<nav class="trail" aria-label="Above"><a href="/workers">Workers</a></nav>
    <div id="worker" data-live>
      <div class="page-head">
        <header class="title">
          <h1>${worker.name}</h1>
          ${badge(workerStatusWords(worker))} ${kindOf(worker)}
        </header>
        ${
          worker.mode === "cloud-hosted"
            ? null
            : html`<div class="actions">
                ${
                  worker.status === "DRAINING"
                    ? button(worker, "undrain", "Take jobs again", "")
                    : button(worker, "drain", "Drain: take no new jobs", "quiet")
                }
                <a class="button quiet" href="/workers/${worker.id}/edit">Edit</a>
              </div>`
        }
      </div>
      ${stateOf(model)} ${standing(model)}
      <h2>Jobs</h2>
      ${
        jobs.length === 0
          ? html`<p class="soft">It has run no job that is in this space.</p>`
          : jobTable(jobs, model.now)
      }
      <details class="plumbing">
        <summary>Details</summary>
        ${factsOf(worker)}
      </details>
    </div>
    ${worker.mode === "cloud-hosted" ? null : changes(model, teardown)}`;
};

const stateOf = ({ worker, latest, url, now }: WorkerViewModel): Html | null => {
  const { status, mode, version, last_heartbeat } = worker;
  return html`${
    mode === "cloud-hosted"
      ? html`<p class="notice flow">
          This worker is cloud-hosted: it runs jobs of all users. Only its name, status and version
          are shown, and only the operator can change it.
        </p>`
      : null
  }
  ${
    status === "OFFLINE" && last_heartbeat !== null
      ? html`<p class="error flow">
          No heartbeat for ${sinceThen(last_heartbeat, now)}. Check on its machine whether the agent
          runs (<code>systemctl status windlass-agent</code>), and whether it reaches this server
          (<code>windlass agent doctor</code>).
        </p>`
      : null
  }
  ${
    (status === "REGISTERED" && mode !== "cloud-hosted") || neverStarted(worker)
      ? html`<div class="notice flow">
          <p>
            Its runner has ${status === "REGISTERED" ? "not started yet" : "never started"}. Run
            this on its machine, with the worker's token in the file <code>worker-token</code>:
          </p>
          <pre class="log" tabindex="0">${startCommand(url, worker.id)}</pre>
          <p>
            If you do not have the token any more, create a new one below. If the runner was
            started, check whether it reaches this server (<code>windlass agent doctor</code>).
          </p>
        </div>`
      : null
  }
  ${
    worker.isolation === "process"
      ? html`<p class="warning flow">
          <strong>Not isolated.</strong> Jobs run as the runner's own user and can read and change
          everything that it can, including its identity and other jobs.
        </p>`
      : null
  }
  ${
    version !== null && latest !== null && isBehind(version, latest)
      ? html`<p class="warning flow">
          It runs version ${version}; version ${latest} is available. Upgrade the agent on its
          machine; a running terraform is not interrupted.
        </p>`
      : null
  }`;
};

/** How much it does now and did lately, and where. Of a cloud-hosted one, people see less. */
const standing = ({ worker, jobs, runs, latest, now }: WorkerViewModel): Html => {
  const { hostname, os, arch, labels } = worker;
  const isOurs = worker.mode !== "cloud-hosted";
  const running = jobs.filter(({ status }) => status === "PROCESSING").length;
  return figures(
    [
      isOurs ? figure("Load", loadOf(worker, worker.held_job_ids?.length ?? running)) : null,
      isOurs ? figure("Last heartbeat", heard(worker, now)) : null,
      figure("Version", versionOf(worker, latest)),
      isOurs
        ? figure(
            "Host",
            hostname ?? "–",
            [os, arch, labels.length === 0 ? "" : `labels ${labels.join(", ")}`]
              .filter(Boolean)
              .join(" · "),
          )
        : null,
    ],
    runs.length < 2 ? null : runChart(runs, now),
  );
};

const factsOf = (worker: Worker): Html =>
  worker.mode === "cloud-hosted"
    ? html`<p>Id <code>${worker.id}</code></p>`
    : html`<dl class="facts">
        <dt>Features</dt>
        <dd>${worker.features.join(", ") || "none"}</dd>
        <dt>Isolation</dt>
        <dd>${worker.isolation ?? "not known yet"}</dd>
        <dt>Jobs at once</dt>
        <dd>${worker.capacity === null ? "not known yet" : String(worker.capacity)}</dd>
        <dt>Registered</dt>
        <dd>${clock(worker.created_at)}</dd>
        <dt>Id</dt>
        <dd><code>${worker.id}</code></dd>
        <dt>Metadata</dt>
        <dd>
          <pre class="log" tabindex="0">${JSON.stringify(worker.metadata, null, 2)}</pre>
        </dd>
      </dl>`;

const changes = (model: WorkerViewModel, teardown: Form): Html =>
  html`<div class="rare">
    ${row(
      { id: "renew", title: "Renew its token" },
      `The old token works for another ${tokenOverlap.default / 60} minutes, so that you can give the agent the new one.`,
      ask(
        "New token…",
        button(
          model.worker,
          "rotate",
          "Create a new token",
          "danger",
          html`<label class="tick"
            ><input type="checkbox" name="at_once" autocomplete="off" />
            <span
              >End the old token at once: the agent stops its running jobs and exits</span
            ></label
          >`,
        ),
      ),
    )}
    ${row(
      { id: "tear-down", title: "Tear down" },
      "Another worker destroys what this one was deployed with, then this one is removed.",
      teardownView(model.worker, model, teardown),
    )}
    ${row(
      { id: "removal", title: "Remove" },
      "Windlass forgets it. Its machine keeps the agent.",
      ask(
        "Remove this worker…",
        html`<p id="held" data-live>
            ${heldText(model.jobs)} Jobs that it has when it is removed count as lost at once, and
            its token stops working. To lose no job, drain the worker first and wait until it has no
            jobs.
          </p>
          ${button(model.worker, "remove", "Remove the worker", "danger")}`,
      ),
    )}
  </div>`;

/** What a removal would lose. */
function heldText(jobs: readonly JobSummary[]): Html | string {
  const held = jobs.filter(({ status }) => status === "PROCESSING");
  if (held.length === 0) return "It has no job now.";
  const links = held.map((job) => html`${linkTo(job)} ${job.name ?? ""} `);
  return html`<strong>It has ${count(held.length, "job")} now:</strong> ${links}`;
}

const button = (
  { id }: Worker,
  verb: string,
  words: string,
  look: string,
  fields: Html | null = null,
): Html =>
  html`<form method="post" action="/workers/${id}/${verb}">
    ${fields}
    <button id="${verb}" class="${look}">${words}</button>
  </form>`;
