/** The pages there are so far: signing in, approving a device, and an overview. */
import type { DeviceLogin } from "../../protocol/auth.ts";
import type { Job } from "../../protocol/jobs.ts";
import type { Worker } from "../../protocol/workers.ts";
import { html, type Html } from "./html.ts";

/** What to do without a session. */
export const loginPage = (
  next: string | undefined,
  providers: readonly { readonly name: string; readonly title: string }[],
): Html =>
  html` <h1>Sign in</h1>
    ${providers.map(
      ({ name, title }) =>
        html`<p>
          <a class="button" href="/api/auth/login/${name}?next=${encodeURIComponent(next ?? "/")}"
            >Continue with ${title}</a
          >
        </p>`,
    )}
    <p>
      ${providers.length === 0 ? "" : "Or by a link: "}Whoever runs this server can make a one-time
      link for you. On the server:
    </p>
    <p><code>windlass server login-link --email you@example.com</code></p>
    <p class="soft">The link works once, for 15 minutes. Open it in this browser.</p>
    ${next === undefined || next === "/" ? null : html`<p>Then go on to <a href="${next}">the page you came for</a>.</p>`}`;

/** Why a sign-in at a provider came to nothing. */
export const failedSignInPage = (reason: string): Html =>
  html` <h1>You are not signed in</h1>
    <p>${reason}.</p>
    <p><a href="/login">Try again</a></p>`;

/** A link that was opened before, or too late. */
export const deadLinkPage = (): Html =>
  html` <h1>This link does not work any more</h1>
    <p>A sign-in link works once, for 15 minutes. Make a new one on the server:</p>
    <p><code>windlass server login-link --email you@example.com</code></p>`;

/** Asks the signed-in person whether the client that opened the browser may act for them. */
export const approvePage = (deviceCode: string, email: string): Html =>
  html` <h1>Sign in the command-line client?</h1>
    <p>
      A <code>windlass</code> client asks to act as <strong>${email}</strong>. Go on only if you
      started it just now.
    </p>
    <form method="post" action="/cli/login">
      <input type="hidden" name="device_code" value="${deviceCode}" />
      <button>Show the code</button>
    </form>
    <p class="soft">Request ${deviceCode}</p>`;

/** The six characters to type at the client. */
export const codePage = ({ verification_code, expires_at }: DeviceLogin): Html =>
  html` <h1>Type this code at the client</h1>
    <p class="code">${verification_code}</p>
    <p class="soft">It works until ${clock(expires_at)}. Five wrong guesses end it.</p>`;

/** Why a device login cannot be approved, and what to do. */
export const deadDevicePage = (reason: string): Html =>
  html` <h1>This sign-in cannot go on</h1>
    <p>${reason}. Start again at the client: <code>windlass login</code></p>`;

/** Something that was refused. */
export const refusalPage = (title: string, detail: string): Html =>
  html` <h1>${title}</h1>
    ${detail === title ? null : html`<p>${detail}</p>`}
    <p><a href="/">To the overview</a></p>`;

/** What is there: workers and the latest jobs. */
export const overviewPage = (workers: readonly Worker[], jobs: readonly Job[]): Html =>
  html` <h1>Overview</h1>
    <h2>Workers</h2>
    ${
      workers.length === 0
        ? html`<p class="soft">
            No worker yet. Make a registration token, then start <code>windlass agent</code> with
            it.
          </p>`
        : table(
            ["Name", "Status", "Version", "Host", "Last heartbeat"],
            workers.map(({ name, status, version, hostname, last_heartbeat }) => [
              name,
              html`<span class="${status}">${status}</span>`,
              version ?? "–",
              hostname ?? "–",
              last_heartbeat ? clock(last_heartbeat) : "never",
            ]),
          )
    }
    <h2>Latest jobs</h2>
    ${
      jobs.length === 0
        ? html`<p class="soft">No job yet.</p>`
        : table(
            ["Job", "Configuration", "Status", "Created", "What"],
            jobs.map((job) => [
              html`<a href="/jobs/${job.id}">${job.job_type}</a>`,
              job.config_snapshot?.name ?? "–",
              html`<span class="${job.status}">${job.status}</span>`,
              clock(job.created_at),
              job.error_message ?? job.waiting_reason?.replaceAll("_", " ") ?? "",
            ]),
          )
    }`;

/** One job with its log. */
export const jobPage = (job: Job, log: string, isCut: boolean): Html =>
  html` <h1>${job.job_type} of ${job.config_snapshot?.name ?? "a configuration"}</h1>
    <p>
      <span class="${job.status}">${job.status}</span>
      <span class="soft"
        >created
        ${clock(job.created_at)}${job.ended_at === null ? "" : `, ended ${clock(job.ended_at)}`} ·
        ${job.id}</span
      >
    </p>
    ${job.error_message === null ? null : html`<p class="FAILED">${job.error_message}</p>`}
    ${isCut ? html`<p class="soft">The log is long: this is its beginning.</p>` : null}
    <pre class="log" tabindex="0">
${log === "" ? "No output yet. Reload to look again." : log}</pre>`;

const table = (heads: readonly string[], rows: readonly (readonly (Html | string)[])[]): Html =>
  html` <div class="scroll">
    <table>
      <thead>
        <tr>
          ${heads.map((head) => html`<th scope="col">${head}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${row.map((cell) => html`<td>${cell}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;

/** `2026-11-21 10:15:02 UTC`. */
const clock = (time: string): string => `${time.slice(0, 19).replace("T", " ")} UTC`;
