/** Workers: the list, and one of them with what it runs and ran. */
import type { ApprovalRule } from "../../../protocol/approvals.ts";
import { neverStarted, startCommand, workerStatusWords } from "../../../protocol/worker-words.ts";
import { tokenOverlap } from "../../../protocol/limits.ts";
import type { Worker } from "../../../protocol/workers.ts";
import type { JobSummary } from "../../services/jobs/views.ts";
import { isBehind } from "../../domain/worker.ts";
import { ask } from "../page/fields.ts";
import type { Form } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { jobTable, linkTo } from "../jobs/job-table.ts";
import { table } from "../page/table.ts";
import { ago, badge, clock, count, sinceThen } from "../page/words.ts";
import { teardownView } from "./worker-form.ts";

/** All workers, and the way to one more. `latest` is the highest published release. */
export const workersPage = (
  workers: readonly Worker[],
  held: ReadonlyMap<string, number>,
  latest: string | null,
  now: string,
): Html =>
  html`<h1>Workers</h1>
    <form method="post" action="/workers/register" class="first">
      <button>Add a worker</button>
      <span class="soft">It creates a registration token for one worker, valid for one hour.</span>
    </form>
    <div id="workers" data-live>
      ${
        workers.length === 0
          ? html`<p class="notice flow">
              No worker yet. Jobs need one: add it on a machine where terraform may run and that can
              reach your clouds. It connects to this server, so it needs no open port.
            </p>`
          : workerTable(workers, held, latest, now)
      }
    </div>`;

/** Workers and how they do. `held` is how many jobs each of them holds. */
export const workerTable = (
  workers: readonly Worker[],
  held: ReadonlyMap<string, number>,
  latest: string | null,
  now: string,
): Html =>
  table(
    "Workers",
    ["Name", "Status", "Jobs", "Version", "Host", "Labels", "Last heartbeat"],
    workers.map((worker) => {
      const { id, name, capacity, hostname, labels } = worker;
      const running = String(held.get(id) ?? 0);
      const isOurs = worker.mode !== "cloud-hosted";
      return [
        html`<a href="/workers/${id}">${name}</a>`,
        badge(workerStatusWords(worker)),
        isOurs ? (capacity === null ? running : `${running} of ${capacity}`) : "–",
        versionOf(worker, latest),
        hostname ?? "–",
        labels.join(", ") || "–",
        neverStarted(worker)
          ? html`never: <a href="/workers/${id}">start its runner</a>`
          : isOurs
            ? heard(worker, now)
            : "–",
      ];
    }),
  );

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
  readonly latest: string | null;
  /** The name of the configuration that deployed it. */
  readonly deployedBy: string | undefined;
  readonly rule: ApprovalRule | null;
  readonly url: string;
  readonly now: string;
}

/** One worker. */
export const workerPage = (model: WorkerViewModel, teardown: Form): Html => {
  const { worker, jobs } = model;
  return html`<nav class="trail" aria-label="Above"><a href="/workers">Workers</a></nav>
    <div id="worker" data-live>
      <header class="title">
        <h1>${worker.name}</h1>
        ${badge(workerStatusWords(worker))}
      </header>
      ${stateOf(model)}
      ${
        worker.mode === "cloud-hosted"
          ? null
          : html`<div class="actions">
              ${
                worker.status === "DRAINING"
                  ? button(worker, "undrain", "Take jobs again", "")
                  : button(worker, "drain", "Drain: take no new jobs", "quiet")
              }
            </div>`
      }
      ${worker.mode === "cloud-hosted" ? cloudFactsOf(model) : factsOf(model)}
      <h2>Jobs</h2>
      ${
        jobs.length === 0
          ? html`<p class="soft">It has run no job that is in this space.</p>`
          : jobTable(jobs, model.now)
      }
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
    version !== null && latest !== null && isBehind(version, latest)
      ? html`<p class="warning flow">
          It runs version ${version}; version ${latest} is available. Upgrade the agent on its
          machine; a running terraform is not interrupted.
        </p>`
      : null
  }`;
};

const cloudFactsOf = ({ worker }: WorkerViewModel): Html =>
  html`<dl class="facts">
    <dt>Version</dt>
    <dd>${worker.version ?? "not known yet"}</dd>
    <dt>Id</dt>
    <dd><code>${worker.id}</code></dd>
  </dl>`;

const factsOf = ({ worker, now }: WorkerViewModel): Html =>
  html`<dl class="facts">
      <dt>Version</dt>
      <dd>${worker.version ?? "not known yet"}</dd>
      <dt>Host</dt>
      <dd>
        ${[worker.hostname, worker.os, worker.arch].filter(Boolean).join(", ") || "not known yet"}
      </dd>
      <dt>Labels</dt>
      <dd>${worker.labels.join(", ") || "none"}</dd>
      <dt>Features</dt>
      <dd>${worker.features.join(", ") || "none"}</dd>
      <dt>Isolation</dt>
      <dd>
        ${worker.isolation ?? "not known yet"}${
          worker.isolation === "process"
            ? html`: <strong>not isolated.</strong> Jobs run as the runner's own user and can read
                and change everything that it can, including its identity and other jobs.`
            : ""
        }
      </dd>
      <dt>Jobs at once</dt>
      <dd>${worker.capacity === null ? "not known yet" : String(worker.capacity)}</dd>
      <dt>Last heartbeat</dt>
      <dd>${heard(worker, now)}</dd>
      <dt>Registered</dt>
      <dd>${clock(worker.created_at)}</dd>
      <dt>Id</dt>
      <dd><code>${worker.id}</code></dd>
    </dl>
    <details>
      <summary>Metadata</summary>
      <pre class="log" tabindex="0">${JSON.stringify(worker.metadata, null, 2)}</pre>
    </details>`;

const changes = (model: WorkerViewModel, teardown: Form): Html => {
  const { worker } = model;
  return html`<section aria-labelledby="change">
    <h2 id="change">Change</h2>
    <p>
      <a class="button quiet" href="/workers/${worker.id}/edit"
        >Edit its name, labels and deployment</a
      >
    </p>
    ${teardownView(worker, model, teardown)}
    <div class="actions">
      ${ask(
        "New token…",
        html`<p>
            The old token works for another ${tokenOverlap.default / 60} minutes, so that you can
            give the agent the new one.
          </p>
          ${button(
            worker,
            "rotate",
            "Create a new token",
            "danger",
            html`<label class="tick"
              ><input type="checkbox" name="at_once" autocomplete="off" />
              <span
                >End the old token at once: the agent stops its running jobs and exits</span
              ></label
            >`,
          )}`,
      )}
      ${ask(
        "Remove this worker…",
        html`<p id="held" data-live>
            ${heldText(model.jobs)} Jobs that it has when it is removed count as lost at once, and
            its token stops working. To lose no job, drain the worker first and wait until it has no
            jobs.
          </p>
          ${button(worker, "remove", "Remove the worker", "danger")}`,
      )}
    </div>
  </section>`;
};

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
