import { auditActions, type AuditEntry } from "../../../protocol/audit.ts";
import type { JobStatus } from "../../../protocol/jobs.ts";
import { html, type Html } from "../page/html.ts";
import { olderLink } from "../page/list.ts";
import { badge, clock, plainTime } from "../page/words.ts";
import { detailsOf, sentenceOf } from "./audit-words.ts";

/** As in the address; the days are those of UTC. */
export interface AuditQuery {
  readonly action?: string;
  /** A part of the name of who did it. */
  readonly by?: string;
  readonly since?: string;
  readonly until?: string;
}

export interface AuditLog {
  readonly entries: readonly AuditEntry[];
  /** The ids of what they name and what still exists. */
  readonly existing: ReadonlySet<string>;
  readonly query: AuditQuery;
  /** Where the list continues; undefined at its end. */
  readonly next: string | undefined;
  /** Until when entries were searched, if not all were. */
  readonly searchedUntil: string | undefined;
  readonly email: string;
  readonly now: string;
}

export const auditPage = (log: AuditLog): Html => {
  const { entries, existing, query, next, searchedUntil } = log;
  const days = Map.groupBy(entries, ({ created_at }) => created_at.slice(0, 10));
  const filter = new URLSearchParams({ ...query }).toString();
  return html`<h1>Audit</h1>
    <p class="soft">Who did what to your resources, when and from where; newest first.</p>
    ${filterForm(log)}
    ${
      entries.length > 0
        ? null
        : html`<p class="soft">
            ${searchedUntil === undefined ? "No entries." : "No such entry among those searched so far."}
            ${Object.keys(query).length === 0 ? null : html`<a href="/audit">Show everything</a>`}
          </p>`
    }
    ${Array.from(
      days,
      ([day, some]) =>
        html`<section class="audit" aria-labelledby="day-${day}">
          <h2 id="day-${day}">${dayName(day, log.now)}</h2>
          <ol>
            ${some.map((entry) => html`<li>${line(entry, existing)}</li>`)}
          </ol>
        </section>`,
    )}
    ${
      searchedUntil === undefined
        ? null
        : html`<p class="soft">The search ended at entries of ${clock(searchedUntil)}.</p>`
    }
    ${olderLink(filter === "" ? "/audit" : `/audit?${filter}`, next, "entries")}`;
};

/** The time of day stays that of UTC, by which the days are; its title has the reader's own. */
const line = (entry: AuditEntry, existing: ReadonlySet<string>): Html => {
  const { action, created_at, details } = entry;
  const status = action === "job.end" ? (details["status"] as JobStatus) : undefined;
  const all = detailsOf(entry);
  return html`<time datetime="${created_at}" title="${plainTime(created_at)}" data-duration
      >${created_at.slice(11, 16)}</time
    >
    <span>${sentenceOf(entry, existing)} ${status === undefined ? null : badge(status)}</span>
    <details>
      <summary><span>${all.join(" · ")}</span></summary>
      ${all.map((one) => html`<div>${one}</div>`)}
    </details>`;
};

const dayFormat = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeZone: "UTC" });

/** `Friday, 27 November 2026`; the last two have words of their own before it. */
function dayName(day: string, now: string): Html {
  const age = (Date.parse(now.slice(0, 10)) - Date.parse(day)) / 86_400_000;
  const date = dayFormat.format(new Date(day));
  const word = ["Today", "Yesterday"][age];
  return word === undefined
    ? html`${date} <span class="soft">UTC</span>`
    : html`${word} <span class="soft">${date} UTC</span>`;
}

const filterForm = ({ query, email }: AuditLog): Html => {
  const day = (name: "since" | "until", label: string): Html =>
    html`<label
      >${label} (UTC)
      <input type="date" name="${name}" value="${query[name] ?? ""}" autocomplete="off"
    /></label>`;
  return html`<form method="get" action="/audit" class="filters" role="search" aria-label="Entries">
    <label
      >Person
      <input
        name="by"
        value="${query.by ?? ""}"
        list="people"
        placeholder="Part of a name"
        autocomplete="off"
    /></label>
    <datalist id="people"><option value="${email}"></option></datalist>
    <label
      >What
      <select name="action">
        <option value="">everything</option>
        ${auditActions.map((one) => html`<option ${one === query.action ? html`selected` : null}>${one}</option>`)}
      </select></label
    >
    ${day("since", "Since")} ${day("until", "Until")}
    <button class="quiet">Show</button>
    ${Object.keys(query).length === 0 ? null : html`<a href="/audit">Show everything</a>`}
  </form>`;
};
