/** Pull requests, each with its head and, beside it, the plans of its newest commit. */
import type { PullRequest } from "../../../protocol/pull-requests.ts";
import { sentence } from "../../../protocol/words.ts";
import { html, type Html } from "../page/html.ts";
import { icon, type IconName } from "../page/icons.ts";
import { ago, jobBadge, changesView, count } from "../page/words.ts";

/** The class that colours its icon, and the icon. */
const looks: Readonly<Record<PullRequest["state"], readonly [kind: string, icon: IconName]>> = {
  open: ["ONLINE", "git-pull-request"],
  merged: ["", "git-merge"],
  closed: ["", "git-pull-request-closed"],
};

/** Plans of each in a list; its own page has all of them. */
const plansShown = 10;

export const pullRequestList = (
  pulls: readonly PullRequest[],
  now: string,
  most = plansShown,
): Html =>
  html`<ul class="pulls">
    ${pulls.map(
      (pull) =>
        html`<li id="${pull.id}">
          <span class="badge ${looks[pull.state][0]}">${icon(looks[pull.state][1])}</span>
          ${headOf(pull, now)}
          <div>${plansOf(pull, most)}</div>
        </li>`,
    )}
  </ul>`;

const headOf = (
  { repository, number, title, author, url, state, head, base, is_fork, updated_at }: PullRequest,
  now: string,
): Html =>
  html`<div>
    <p><a class="name" href="${url}">${title}</a></p>
    <p class="soft">
      ${repository}#${number} · ${state} · ${author}${is_fork ? ", from a fork" : ""} ·
      ${ago(updated_at, now)}
    </p>
    <p class="soft">${head.branch} into ${base.branch}, commit ${shortCommit(head.commit)}</p>
  </div>`;

/** The beginning by which people know a commit. */
export const shortCommit = (commit: string | null): Html =>
  html`<code title="${commit}">${commit?.slice(0, 10)}</code>`;

function plansOf(pull: PullRequest, most: number): Html {
  if (pull.needs_approval) return approveForm(pull);
  const more = pull.jobs.length - most;
  if (pull.jobs.length > 0)
    return html`<ul>
      ${pull.jobs
        .toSorted(failedFirst)
        .slice(0, most)
        .map(
          ({ configuration, job_id, changes, ...job }) =>
            html`<li>
              <a href="/jobs/${job_id}">${configuration}</a> ${jobBadge(job)}
              ${changes === null ? null : changesView(changes)}
            </li>`,
        )}
      ${more > 0 ? html`<li><a href="/pull-requests/${pull.id}">${count(more, "more plan")}</a></li>` : null}
    </ul>`;
  return html`<p class="soft">
    ${pull.skipped === null ? "No configuration was planned for this commit." : `Not planned: ${sentence(pull.skipped)}`}
  </p>`;
}

const failedFirst = (a: PullRequest["jobs"][number], b: typeof a): number =>
  Number(b.status === "FAILED") - Number(a.status === "FAILED");

const approveForm = ({ id, author, head }: PullRequest): Html =>
  html`<form method="post" action="/pull-requests/${id}/approve">
    <input type="hidden" name="commit" value="${head.commit}" />
    <p>
      Its plan runs code of ${author} on your workers: read this commit first. A newer commit needs
      another approval.
    </p>
    <button class="quiet">Approve ${head.commit?.slice(0, 10)}</button>
  </form>`;
