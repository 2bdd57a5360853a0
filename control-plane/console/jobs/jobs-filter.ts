/** The filter of the list of jobs: read from an address, written into one, and as a form. */
import { validate } from "uuid";
import { jobTypes } from "../../../protocol/limits.ts";
import { jobStatuses, type JobStatus, type JobType } from "../../../protocol/jobs.ts";
import { day } from "../../../common/units.ts";
import { html, type Html } from "../page/html.ts";

/** As in the address: `since` and `until` are days, such as `2026-11-21`, in UTC. */
export interface JobsFilter {
  readonly status?: JobStatus;
  readonly job_type?: JobType;
  readonly configuration?: string;
  readonly name?: string;
  readonly by?: string;
  readonly since?: string;
  readonly until?: string;
}

/** Characters of a name or an e-mail address that are read. */
const textLimit = 320;

/** Reads the filter. A value that is not valid filters nothing. */
export function readFilter(query: unknown): JobsFilter {
  const given = query as Record<string, unknown>;
  const text = (name: string) => {
    const value = given[name];
    return typeof value === "string" ? value.trim().slice(0, textLimit) : "";
  };
  const [status, type] = [
    jobStatuses.find((one) => one === text("status")),
    jobTypes.find((one) => one === text("job_type")),
  ];
  const configuration = text("configuration").toLowerCase();
  const [name, by, since, until] = ["name", "by", "since", "until"].map(text) as [
    string,
    string,
    string,
    string,
  ];
  return {
    ...(status && { status }),
    ...(type && { job_type: type }),
    ...(validate(configuration) && { configuration }),
    ...(name !== "" && { name }),
    ...(by !== "" && { by }),
    ...(startOf(since) !== undefined && { since }),
    ...(startOf(until) !== undefined && { until }),
  };
}

const names = ["status", "job_type", "configuration", "name", "by", "since", "until"] as const;

/** Where the list begins, and whose jobs it shows. */
const notFilters: ReadonlySet<string> = new Set(["before", "team"]);

/** Parts of an address that filter nothing, such as `status=DONE`, except invalid days. */
export function ignoredIn(query: unknown, filter: JobsFilter): string[] {
  const given = Object.entries(query as Record<string, unknown>);
  return given
    .filter(([name, value]) => {
      if (notFilters.has(name) || value === "") return false;
      const known = names.find((one) => one === name);
      if (known === "since" || known === "until") return false;
      return known === undefined || filter[known] === undefined;
    })
    .map(([name, value]) => `${name}=${[value].flat().join(",")}`.slice(0, textLimit));
}

const dayNames = ["since", "until"] as const;
const dayLabels = { since: "Since (UTC)", until: "Until (UTC)" } as const;

/** The values of `since` and `until` that are not days, and so filter nothing. */
export type WrongDays = Readonly<Partial<Record<(typeof dayNames)[number], string>>>;

export function wrongDaysIn(query: unknown, filter: JobsFilter): WrongDays {
  const given = query as Record<string, unknown>;
  const wrong = dayNames.filter((name) => (given[name] ?? "") !== "" && !filter[name]);
  return Object.fromEntries(
    wrong.map((name) => [name, [given[name]].flat().join(",").slice(0, textLimit)]),
  );
}

/** The first moment of a day; undefined if the text is not a day. */
export function startOf(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined;
  const start = new Date(`${text}T00:00:00Z`);
  // Date takes 2026-02-30 for the 2nd of March.
  const isDay = !Number.isNaN(start.getTime()) && start.toISOString().startsWith(text);
  return isDay ? start.getTime() : undefined;
}

/** The moment after a day's last one. */
export const endOf = (text: string | undefined): number | undefined => {
  const start = startOf(text);
  return start === undefined ? undefined : start + day;
};

export function addressOf(filter: JobsFilter, before?: string): string {
  const query = new URLSearchParams({
    ...(filter as Record<string, string>),
    ...(before && { before }),
  }).toString();
  return `/jobs${query === "" ? "" : `?${query}`}`;
}

/** The form. `configuration` is the one that is filtered by, with its name if it still exists. */
export const filterForm = (
  filter: JobsFilter,
  wrong: WrongDays,
  email: string,
  configuration: { id: string; name: string } | undefined,
): Html => {
  const { configuration: _, ...others } = filter;
  const select = (name: "job_type" | "status", label: string, values: readonly string[]) =>
    html`<label
      >${label}
      <select name="${name}">
        <option value="">any</option>
        ${values.map((one) => html`<option ${one === filter[name] ? html`selected` : null}>${one}</option>`)}
      </select></label
    >`;
  const input = (
    name: "name" | "by" | "since" | "until",
    label: string,
    type: string,
    about: Html | null = null,
  ) =>
    html`<label
      >${label}
      <input
        type="${type}"
        name="${name}"
        value="${filter[name] ?? ""}"
        ${name === "by" ? html`list="people" placeholder="Part of a name"` : null}
        ${about}
        autocomplete="off"
    /></label>`;
  const dayInput = (name: keyof WrongDays) => {
    const about = html`aria-invalid="true" aria-describedby="${name}-wrong"`;
    return input(name, dayLabels[name], "date", wrong[name] === undefined ? null : about);
  };
  return html`<form method="get" action="/jobs" class="filters" role="search">
    ${input("name", "Name", "search")} ${select("job_type", "Type", jobTypes)}
    ${select("status", "Status", jobStatuses)} ${input("by", "Created by", "text")}
    ${dayNames.map(dayInput)}
    <datalist id="people"><option value="${email}"></option></datalist>
    ${configuration && html`<input type="hidden" name="configuration" value="${configuration.id}" />`}
    <button class="quiet">Show</button>
    ${Object.keys(filter).length === 0 ? null : html`<a href="/jobs">Show all</a>`}
    ${dayNames.map((name) =>
      wrong[name] === undefined
        ? null
        : html`<p class="wrong" id="${name}-wrong" role="alert">
            ${dayLabels[name]}: “${wrong[name]}” is not a day such as 2026-11-24, so it filters
            nothing.
          </p>`,
    )}
    ${
      configuration &&
      html`<p>
        Only <a href="/configurations/${configuration.id}">${configuration.name}</a>.
        <a href="${addressOf(others)}">Show every configuration</a>
      </p>`
    }
  </form>`;
};
