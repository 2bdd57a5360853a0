/** Deployments that wait for approvals, first on the overview. */
import { changesText, jobTypeWords } from "../../../protocol/words.ts";
import type { WaitingDeployment, WaitingDeployments } from "../../services/approvals/waiting.ts";
import { html, type Html } from "../page/html.ts";
import { table } from "../page/table.ts";
import { between } from "../page/words.ts";

export interface Waiting {
  readonly forCaller: WaitingDeployments;
  readonly own: WaitingDeployments;
  /** Whether the reader is a member of a team. */
  readonly isInTeam: boolean;
}

/** Deployments in all spaces of the reader. */
export const waitingView = ({ forCaller, own, isInTeam }: Waiting, now: string): Html =>
  html`${
    forCaller.jobs.length > 0
      ? html`<h2>Waiting for you</h2>
          ${table(
            "Deployments that you can approve",
            ["Job", "Configuration", "Space", "What", "Approvals", "Who", "For"],
            forCaller.jobs.map((job) => [
              ...beginning(job),
              approvalsOf(job),
              job.created_by ?? "–",
              between(job.created_at, now),
            ]),
          )}
          ${more(forCaller)}`
      : isInTeam
        ? html`<h2>Waiting for you</h2>
            <p class="soft">No deployment waits for your approval.</p>`
        : null
  }
  ${
    own.jobs.length === 0
      ? null
      : html`<h2>Waiting for others</h2>
          ${table(
            "Your deployments that others must approve",
            ["Job", "Configuration", "Space", "What", "Approvals", "Who can approve", "For"],
            own.jobs.map((job) => [
              ...beginning(job),
              approvalsOf(job),
              approversOf(job),
              between(job.created_at, now),
            ]),
          )}
          ${more(own)}`
  }`;

const beginning = (job: WaitingDeployment): (Html | string)[] => [
  html`<a href="/jobs/${job.id}">${jobTypeWords("DEPLOY", job)}</a>`,
  html`<a href="/configurations/${job.configuration.id}">${job.configuration.name}</a>`,
  job.team ?? "Personal",
  job.changes === null ? "not known" : changesText(job.changes),
];

const approvalsOf = ({ need: { rule, missing }, isStale }: WaitingDeployment): string =>
  isStale ? "plan out of date" : `${rule.count - missing} of ${rule.count}`;

/** Who can approve it, in short. */
const approversOf = ({ need: { approvers, more_approvers } }: WaitingDeployment): string =>
  [...approvers, ...(more_approvers ? ["others"] : [])].join(", ") || "no member can approve it";

const more = ({ hasMore }: WaitingDeployments): Html | null =>
  hasMore
    ? html`<p class="soft">
        There are more. The list of <a href="/jobs?status=QUEUED">queued jobs</a> shows those of
        this space.
      </p>`
    : null;
