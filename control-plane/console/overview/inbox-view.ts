/** What needs a person, first on the overview: a line for each, with the action at its end. */
import {
  changesText,
  driftText,
  failedChecksWords,
  isChanging,
  jobTypeWords,
} from "../../../protocol/words.ts";
import { neverStarted } from "../../../protocol/worker-words.ts";
import type { Worker } from "../../../protocol/workers.ts";
import type { WaitingDeployment, WaitingDeployments } from "../../services/approvals/waiting.ts";
import type {
  DriftedConfiguration,
  FailedConfiguration,
  LockedConfiguration,
  WarnedConfiguration,
} from "../../services/configurations/attention.ts";
import type { JobSummary } from "../../services/jobs/views.ts";
import type { BrokenConnection } from "../../services/connections/attention.ts";
import type { EndingConfiguration, SkippedSchedule } from "../../services/schedules/attention.ts";
import type { FailingRule } from "../../services/notifications/attention.ts";
import { lastFailed } from "../configurations/failed-view.ts";
import { linkTo, nameOf } from "../jobs/job-table.ts";
import { html, type Html } from "../page/html.ts";
import { icon, type IconName } from "../page/icons.ts";
import { ago, between, until, waiting } from "../page/words.ts";

export interface Inbox {
  /** What the reader can approve, and their own that others must approve, in all their spaces. */
  readonly forCaller: WaitingDeployments;
  readonly own: WaitingDeployments;
  readonly failed: readonly FailedConfiguration[];
  readonly warned: readonly WarnedConfiguration[];
  readonly drifted: readonly DriftedConfiguration[];
  readonly locked: readonly LockedConfiguration[];
  /** Whose resources will be destroyed within a day. */
  readonly ending: readonly EndingConfiguration[];
  readonly skipped: readonly SkippedSchedule[];
  readonly broken: readonly BrokenConnection[];
  /** Rules whose notifications do not arrive. */
  readonly silent: readonly FailingRule[];
  readonly queued: readonly JobSummary[];
  readonly workers: readonly Worker[];
}

/** Entries of each kind that need a person. */
export const inboxLimit = 10;

/** Reasons that end by themselves. */
const passing = new Set(["waiting_for_worker", "configuration_busy", "worker_in_use"]);
/** The state of its configuration is listed already, and so is what waits for approvals. */
const isStuck = ({ waiting_reason: reason, needs_approval, is_behind }: JobSummary): boolean =>
  reason !== null &&
  !needs_approval &&
  !is_behind &&
  reason !== "state_locked" &&
  !passing.has(reason);

/** What waits for the reader, failed, is locked, is broken, is stuck or is offline. */
export const itemsOf = (
  {
    forCaller,
    failed,
    warned,
    drifted,
    locked,
    ending,
    skipped,
    broken,
    silent,
    queued,
    workers,
  }: Inbox,
  now: string,
): Html[] => [
  ...forCaller.jobs.map((job) =>
    item("approval", "user-check", approvalText(job, now), ["Review", `/jobs/${job.id}`]),
  ),
  ...failed
    .filter(({ status }) => !isChanging(status))
    .map(({ id, name, error_message, failed_job }) =>
      item(
        "FAILED",
        "x",
        html`<a href="/configurations/${id}"><strong>${name}</strong></a>
          ${lastFailed(failed_job, now)}<span class="soft clamp"
            >${failed_job.error_message ?? error_message}</span
          >`,
        ["See the error", `/jobs/${failed_job.id}`],
      ),
    ),
  ...warned.map((one) =>
    item(
      "WARNING",
      "triangle-alert",
      html`<a href="/configurations/${one.id}"><strong>${one.name}</strong></a> It is deployed, but
        ${failedChecksWords(one)} after the last deployment.`,
      ["See the checks", `/jobs/${one.job_id}`],
    ),
  ),
  ...drifted.map(({ id, name, resources, since }) =>
    item(
      "WARNING",
      "triangle-alert",
      html`<a href="/configurations/${id}"><strong>${name}</strong></a> It has
        ${driftText({ status: "drifted", resources })}, seen ${ago(since, now)}.`,
      ["See what differs", `/configurations/${id}#drift-title`],
    ),
  ),
  ...locked.map(({ id, name, locked_at }) =>
    item(
      "FAILED",
      "lock",
      html`<a href="/configurations/${id}"><strong>${name}</strong></a> Its state has been locked
        for ${between(locked_at, now)}: its jobs wait until it is unlocked.`,
      ["Unlock", `/configurations/${id}/state`],
    ),
  ),
  ...ending.map(({ id, name, at, reason }) =>
    item(
      reason === null ? "WARNING" : "FAILED",
      "clock",
      html`<a href="/configurations/${id}"><strong>${name}</strong></a> ${
          reason === null
            ? html`It expires: what is deployed will be destroyed ${until(at, now)}.`
            : html`It expired ${ago(at, now)}, but nothing was destroyed.<span class="soft clamp"
                  >${reason}</span
                >`
        }`,
      ["Change when", `/configurations/${id}/settings#expiry`],
    ),
  ),
  ...skipped.map(({ id, name, at, reason }) =>
    item(
      "WARNING",
      "calendar-clock",
      html`<a href="/schedules/${id}"><strong>${name}</strong></a> The schedule skipped its run
        ${ago(at, now)}.<span class="soft clamp">${reason}</span>`,
      ["Open the schedule", `/schedules/${id}`],
    ),
  ),
  ...broken.map(({ id, name, message, since }) =>
    item(
      "FAILED",
      "cable",
      html`<a href="/connections/${id}"><strong>${name}</strong></a> The connection has been failing
        for ${between(since, now)}, so pull requests and pushes may not be planned.<span
          class="soft clamp"
          >${message}</span
        >`,
      ["Repair", `/connections/${id}`],
    ),
  ),
  ...silent.map(({ id, name, enabled, message, since }) =>
    item(
      "FAILED",
      "bell",
      html`<a href="/notifications/${id}"><strong>${name}</strong></a>
        ${enabled ? "Notifications have been failing" : "The rule has been disabled, and nothing sent,"}
        for ${between(since, now)}.<span class="soft clamp">${message}</span>`,
      ["Repair", `/notifications/${id}`],
    ),
  ),
  ...queued
    .filter(isStuck)
    .slice(0, inboxLimit)
    .map((job) =>
      item(
        "approval",
        "clock",
        html`<strong>${nameOf(job)}</strong> ${linkTo(job)} waits for
          ${between(job.created_at, now)}. ${waiting(job)}`,
        ["Open the job", `/jobs/${job.id}`],
      ),
    ),
  ...workers
    .filter((worker) => worker.status === "OFFLINE" && !neverStarted(worker))
    .slice(0, inboxLimit)
    .map(({ id, name, last_heartbeat }) =>
      item(
        "FAILED",
        "power-off",
        html`<a href="/workers/${id}"><strong>${name}</strong></a> The worker is
          offline${last_heartbeat === null ? "" : html`: last seen ${ago(last_heartbeat, now)}`}.`,
        ["Open the worker", `/workers/${id}`],
      ),
    ),
];

/** Nothing of it, if it is empty. */
export const inboxView = (inbox: Inbox, items: readonly Html[], now: string): Html => {
  const own = inbox.own.jobs.map((job) =>
    item("QUEUED", "clock", html`${approvalText(job, now)} ${approversOf(job)}`, [
      "Open the job",
      `/jobs/${job.id}`,
    ]),
  );
  return html`${list("Needs you", items, inbox.forCaller)}
  ${list("Waits for others", own, inbox.own)}`;
};

const list = (
  title: string,
  items: readonly Html[],
  { hasMore }: WaitingDeployments,
): Html | null => {
  const id = title.toLowerCase().replaceAll(" ", "-");
  return items.length === 0
    ? null
    : html`<section aria-labelledby="${id}">
        <h2 id="${id}">${title} <span class="number">${items.length}</span></h2>
        <ul class="inbox">
          ${items}
        </ul>
        ${
          hasMore
            ? html`<p class="soft">
                More deployments wait: the list of
                <a href="/jobs?status=QUEUED">queued jobs</a> shows those of this space.
              </p>`
            : null
        }
      </section>`;
};

/** `kind`: the class that colours its icon. */
const item = (
  kind: string,
  picture: IconName,
  text: Html,
  [action, address]: readonly [string, string],
): Html =>
  html`<li>
    <span class="badge ${kind}">${icon(picture)}</span>
    <p>${text}</p>
    <a class="button quiet" href="${address}">${action}</a>
  </li>`;

const approvalText = (job: WaitingDeployment, now: string): Html => {
  const { configuration, team, changes, created_by, created_at, need, isStale } = job;
  const { rule, missing } = need;
  return html`<a href="/configurations/${configuration.id}"
      ><strong>${configuration.name}</strong></a
    >
    ${jobTypeWords("DEPLOY", job)} by ${created_by ?? "a former member"} needs
    approval${changes === null ? "" : `: ${changesText(changes)}`}<span class="soft clamp"
      >${isStale ? "The plan is out of date" : `${rule.count - missing} of ${rule.count} approvals`}
      · ${team ?? "Personal"} · ${ago(created_at, now)}</span
    >`;
};

/** Who can approve it, in short. */
const approversOf = ({ need: { approvers, more_approvers } }: WaitingDeployment): Html =>
  html`<span class="soft"
    >${[...approvers, ...(more_approvers ? ["others"] : [])].join(", ") || "No member"} can approve
    it.</span
  >`;
