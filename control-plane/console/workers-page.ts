/** Workers: the list, one of them, and how to add another. */
import type { RegistrationToken, Worker, WorkerIdentity } from "../../protocol/workers.ts";
import { html, type Html } from "./html.ts";
import { table } from "./table.ts";
import { badge, clock } from "./words.ts";

/** All workers, and the way to one more. */
export const workersPage = (workers: readonly Worker[]): Html =>
  html`<h1>Workers</h1>
    <form method="post" action="/workers/register">
      <button>Add a worker</button>
      <span class="soft">makes a registration token, good for one hour and one worker</span>
    </form>
    <div id="workers" data-live>
      ${
        workers.length === 0
          ? html`<p class="soft">
              No worker yet. One is needed to run anything: add it where terraform may run.
            </p>`
          : table(
              "Workers",
              ["Name", "Status", "Version", "Host", "Labels", "Last heartbeat"],
              workers.map((worker) => [
                html`<a href="/workers/${worker.id}">${worker.name}</a>`,
                badge(worker.status),
                worker.version ?? "–",
                worker.hostname ?? "–",
                worker.labels.join(", "),
                worker.last_heartbeat === null ? "never" : clock(worker.last_heartbeat),
              ]),
            )
      }
    </div>`;

/** The token, shown this once, and the lines that use it. */
export const registrationPage = (
  { registration_token, expires_at }: RegistrationToken,
  url: string,
): Html =>
  html`<h1>Add a worker</h1>
    <p>This token is shown only now. It registers one worker until ${clock(expires_at)}.</p>
    <p class="secret"><code>${registration_token}</code></p>
    <h2>With systemd</h2>
    <p>On the machine where terraform may run; the command asks for the token:</p>
    <pre class="log" tabindex="0">
sudo windlass agent install --url ${url} --registration-token-file -</pre>
    <h2>In a container</h2>
    <p>With the token in a file <code>token</code> that only you can read:</p>
    <pre class="log" tabindex="0">
docker run -d --name windlass-agent --stop-timeout 4500 \\
  -v windlass-agent:/var/lib/windlass-agent -v "$PWD/token:/run/token:ro" \\
  -e WINDLASS_URL=${url} -e WINDLASS_REGISTRATION_TOKEN_FILE=/run/token \\
  windlass agent</pre>
    <p><a href="/workers">To the workers</a>: it appears there as soon as it runs.</p>`;

/** A worker's new token, shown this once. */
export const rotatedPage = ({ worker_id, worker_token }: WorkerIdentity): Html =>
  html`<h1>A new token</h1>
    <p>
      This token is shown only now; the old one is dead. Give it to the agent and start it again.
    </p>
    <p class="secret"><code>${worker_token}</code></p>
    <p><a href="/workers/${worker_id}">To the worker</a></p>`;

/** One worker. */
export const workerPage = (worker: Worker): Html =>
  html`<div id="worker" data-live>
    <header class="title">
      <h1>${worker.name}</h1>
      ${badge(worker.status)}
    </header>
    ${
      worker.mode === "cloud-hosted"
        ? html`<p class="notice">
            This worker is cloud-hosted: it serves everybody and is not yours to change.
          </p>`
        : html`<div class="actions">
            ${
              worker.status === "DRAINING"
                ? button(worker, "undrain", "Take jobs again", "")
                : button(worker, "drain", "Drain: take no new jobs", "")
            }
            ${button(worker, "rotate", "New token", "")}
            ${button(worker, "remove", "Remove: its jobs count as lost", "danger")}
          </div>`
    }
    <dl class="facts">
      <dt>Worker</dt>
      <dd><code>${worker.id}</code></dd>
      <dt>Version</dt>
      <dd>${worker.version ?? "–"}</dd>
      <dt>Host</dt>
      <dd>
        ${[worker.hostname, worker.os, worker.arch].filter(Boolean).join(", ") || "not known yet"}
      </dd>
      <dt>Labels</dt>
      <dd>${worker.labels.join(", ") || "none"}</dd>
      <dt>Isolation</dt>
      <dd>${worker.isolation ?? "not known yet"}</dd>
      <dt>Jobs at once</dt>
      <dd>${worker.capacity === null ? "not known yet" : String(worker.capacity)}</dd>
      <dt>Works on</dt>
      <dd>
        ${
          worker.active_job_ids.length === 0
            ? "nothing"
            : worker.active_job_ids.map((id) => html`<a href="/jobs/${id}">${id}</a> `)
        }
      </dd>
      <dt>Last heartbeat</dt>
      <dd>${worker.last_heartbeat === null ? "never" : clock(worker.last_heartbeat)}</dd>
      <dt>Registered</dt>
      <dd>${clock(worker.created_at)}</dd>
    </dl>
    <details>
      <summary>Metadata</summary>
      <pre class="log" tabindex="0">${JSON.stringify(worker.metadata, null, 2)}</pre>
    </details>
  </div>`;

const button = ({ id }: Worker, verb: string, words: string, look: string): Html =>
  html`<form method="post" action="/workers/${id}/${verb}">
    <button id="${verb}" class="${look}">${words}</button>
  </form>`;
