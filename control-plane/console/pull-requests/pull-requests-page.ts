import { pullRequestStates, type PullRequest } from "../../../protocol/pull-requests.ts";
import { empty } from "../page/empty.ts";
import { trouble } from "../page/fields.ts";
import type { Form } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { olderLink, type ListPage } from "../page/list.ts";
import { pullRequestList } from "./pull-request-list.ts";

export interface PullRequestFilter {
  readonly state?: PullRequest["state"];
  readonly repository?: string;
  readonly configuration?: string;
}

/** Characters of a name that are read. */
const textLimit = 512;

/** Reads the filter. A value that is not valid filters nothing. */
export function readFilter(query: unknown): PullRequestFilter {
  const given = query as Record<string, unknown>;
  const text = (name: string) =>
    typeof given[name] === "string" ? given[name].trim().slice(0, textLimit) : "";
  const state = pullRequestStates.find((one) => one === text("state"));
  const [repository, configuration] = [text("repository"), text("configuration")];
  return {
    ...(state && { state }),
    ...(repository !== "" && { repository }),
    ...(configuration !== "" && { configuration }),
  };
}

export const pullRequestsPage = (
  { items, next }: ListPage<PullRequest>,
  filter: PullRequestFilter,
  now: string,
): Html => {
  const query = new URLSearchParams(filter as Record<string, string>).toString();
  return html`<h1>Pull requests</h1>
    ${items.length === 0 && query === "" ? null : filterForm(filter, query !== "")}
    <div id="pulls" data-live>
      ${items.length === 0 ? none(query !== "") : pullRequestList(items, now)}
    </div>
    ${olderLink(`/pull-requests${query && `?${query}`}`, next, "pull requests")}`;
};

const filterForm = (filter: PullRequestFilter, isFiltered: boolean): Html => {
  const input = (name: "repository" | "configuration", label: string) =>
    html`<label
      >${label}
      <input type="search" name="${name}" value="${filter[name] ?? ""}" autocomplete="off"
    /></label>`;
  return html`<form method="get" action="/pull-requests" class="filters" role="search">
    <label
      >State
      <select name="state">
        <option value="">any</option>
        ${pullRequestStates.map((one) => html`<option ${one === filter.state ? html`selected` : null}>${one}</option>`)}
      </select></label
    >
    ${input("configuration", "Configuration")} ${input("repository", "Repository")}
    <button class="quiet">Show</button>
    ${isFiltered ? html`<a href="/pull-requests">Show all</a>` : null}
  </form>`;
};

const none = (isFiltered: boolean): Html =>
  isFiltered
    ? html`<p class="soft">No pull request matches. <a href="/pull-requests">Show all</a></p>`
    : empty({
        icon: "git-pull-request",
        title: "No pull request yet",
        text: "When a configuration follows a branch, each pull request onto the branch is planned, and its plans are shown here and at the code host.",
        more: html`<ol>
          <li><a href="/connections">Connect your code host</a>.</li>
          <li>
            In the settings of a configuration with a git source, under “Follow a branch”, choose
            the connection.
          </li>
          <li>Open a pull request.</li>
        </ol>`,
      });

/** The page of one, to which the statuses at the code host link. */
export const pullRequestPage = (pull: PullRequest, form: Form, now: string): Html =>
  html`<nav class="trail" aria-label="Above"><a href="/pull-requests">Pull requests</a></nav>
    <h1>${pull.repository}#${pull.number}</h1>
    ${trouble(form)}
    <div id="pulls" data-live>${pullRequestList([pull], now, pull.jobs.length)}</div>`;
