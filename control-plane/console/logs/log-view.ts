/** The log of a job: a script draws it live; without one its beginning is plain text. */
import { script } from "../assets.ts";
import type { Job } from "../../../protocol/jobs.ts";
import { html, type Html } from "../page/html.ts";
import { sentence } from "../page/fields.ts";
import { icon } from "../page/icons.ts";
import { clock } from "../page/words.ts";

/** What the page has of the log for browsers without a script. */
export interface LogStart {
  readonly text: string;
  readonly isCut: boolean;
  readonly unreadable?: string;
}

export const logView = (job: Job, { text, isCut, unreadable }: LogStart): Html => {
  const raw = html`<a href="/jobs/${job.id}/log" download>Raw log</a>`;
  if (job.log_pruned_at !== null)
    return html`<h2>Log</h2>
      <p class="notice flow">
        This log was removed ${clock(job.log_pruned_at)}, because it was older than this server
        keeps logs.
      </p>`;
  if (unreadable !== undefined)
    return html`<h2>Log</h2>
      <p class="error">This log cannot be read: ${sentence(unreadable)}</p>`;
  return html`<section class="log" aria-labelledby="log-title">
      <h2 id="log-title">Log</h2>
      ${
        job.log_complete === false
          ? html`<p class="error flow">
              The end of this log is missing: the runner has sent more than the server has stored.
            </p>`
          : null
      }
      <windlass-log job="${job.id}" ${job.released_at === null ? null : html`ended`}>
        <div class="tools" hidden>
          <div class="find" role="search">
            <input type="search" name="find" aria-label="Search the log" placeholder="Search" />
            <button type="button" class="quiet" name="previous" aria-label="Previous match">
              ↑
            </button>
            <button type="button" class="quiet" name="next" aria-label="Next match">↓</button>
            <output aria-label="Matches"></output>
          </div>
          <button type="button" class="quiet" name="fold" hidden>Fold all</button>
          <label>Line <input name="line" inputmode="numeric" size="6" autocomplete="off" /></label>
          <label><input type="checkbox" name="follow" autocomplete="off" /> Follow</label>
          <label><input type="checkbox" name="wrap" autocomplete="off" /> Wrap</label>
          <label
            ><input type="checkbox" name="times" autocomplete="off" /> Times (<span class="zone"
              >UTC</span
            >)</label
          >
          ${raw}
        </div>
        <div class="lines" tabindex="0" role="region" aria-label="Lines of the log"></div>
        <p class="log-state soft" role="status"></p>
        <template>
          <section class="log-step">
            <h3>
              <button type="button" aria-expanded="true">
                ${icon("chevron-down")} ${icon("loader")}
                <strong></strong> <span class="how"></span>
                <span class="count"></span>
                <span class="took"></span>
              </button>
            </h3>
            <div class="body"></div>
          </section>
        </template>
        <noscript>
          <pre class="log" tabindex="0">
${text === "" ? "No output yet. Reload the page to check again." : text}</pre>
          <p>${isCut ? "This is the beginning. " : ""}${raw}</p>
        </noscript>
      </windlass-log>
    </section>
    ${script("log-view.js")}`;
};
