/** What a connection made a job for: the commit and its pull request, and what the host shows. */
import type { Job } from "../../../protocol/jobs.ts";
import { namesInShort, sentence } from "../../../protocol/words.ts";
import { html, type Html } from "../page/html.ts";
import { icon } from "../page/icons.ts";
import { shortCommit } from "../pull-requests/pull-request-list.ts";

export const changeView = (job: Job): Html | null => {
  const { change, change_state: state = null, withheld = [], configuration_id } = job;
  if (!change) return null;
  return html`<p class="change">
      ${changeText(change)}
      ${state === "pending" ? html`<span class="soft">The host does not show it yet.</span>` : null}
    </p>
    ${
      withheld.length === 0
        ? null
        : html`<p class="soft">
            A plan of a pull request does not get the values of
            ${namesInShort(withheld.map((name) => ({ name })))}${
              configuration_id === null
                ? null
                : html`, by the
                    <a href="/configurations/${configuration_id}/settings#follow">settings</a> of
                    the configuration`
            }.
          </p>`
    }
    ${
      state !== null && typeof state === "object"
        ? html`<p class="notice flow">
            The code host does not show how this job stands: ${sentence(state.error)} Windlass tries
            again by itself. <a href="/connections/${change.connection_id}">The connection</a> says
            more.
          </p>`
        : null
    }`;
};

const changeText = ({
  repository,
  branch,
  commit,
  base_commit,
  pull_request: pull,
  url,
}: NonNullable<Job["change"]>): Html =>
  pull
    ? html`${icon("git-pull-request")} <a href="${pull.url}">${pull.title}</a>
        <span class="soft"
          >${repository}#${pull.number} by ${pull.author}${pull.is_fork ? ", from a fork" : ""}:
          commit
          ${shortCommit(commit)}${base_commit === undefined ? ` of ${branch}` : html` merged into ${branch} at ${shortCommit(base_commit)}`}.</span
        >`
    : html`${icon("git-merge")} Commit <a href="${url}">${shortCommit(commit)}</a>
        <span class="soft">pushed to ${branch} of ${repository}.</span>`;
