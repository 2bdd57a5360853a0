/** What needs a person, first on the overview. */
import { isChanging } from "../../../protocol/words.ts";
import { neverStarted } from "../../../protocol/worker-words.ts";
import type { Worker } from "../../../protocol/workers.ts";
import type {
  FailedConfiguration,
  LockedConfiguration,
} from "../../services/configurations/attention.ts";
import type { Runs } from "../../services/jobs/runs.ts";
import type { JobSummary } from "../../services/jobs/views.ts";
import { linkTo, nameOf } from "../jobs/job-table.ts";
import { shortStrip } from "../jobs/run-strip.ts";
import { deployedInShort } from "../configurations/deployed-view.ts";
import { lastFailed } from "../configurations/failed-view.ts";
import { html, type Html } from "../page/html.ts";
import { ago, between, waiting } from "../page/words.ts";

export interface Attention {
  readonly failed: readonly FailedConfiguration[];
  readonly locked: readonly LockedConfiguration[];
  readonly queued: readonly JobSummary[];
  readonly workers: readonly Worker[];
  readonly runs: Runs;
}

/** Reasons that end by themselves. */
const passing = new Set(["waiting_for_worker", "configuration_busy", "worker_in_use"]);
/** The state of its configuration is listed already, and so is what waits for approvals. */
const isStuck = ({ waiting_reason: reason, needs_approval }: JobSummary): boolean =>
  reason !== null && !needs_approval && reason !== "state_locked" && !passing.has(reason);

/** Entries of each kind. */
const shown = 10;

/** What failed, is locked, waits for a person or is offline, with the way to it. */
export const attentionView = (
  { failed, locked, queued, workers, runs }: Attention,
  now: string,
): Html | null => {
  const items = [
    ...failed
      .filter(({ status }) => !isChanging(status))
      .map(
        ({ id, name, error_message, failed_job, deployed }) =>
          html`<a href="/configurations/${id}">${name}</a>${shortStrip(runs.get(id), now)}:
            ${lastFailed(failed_job, now)}<span class="clamp"
              >${failed_job.error_message ?? error_message}</span
            >${deployed === null ? null : html`<span class="soft">Deployed: ${deployedInShort(deployed, now)}</span>`}`,
      ),
    ...locked.map(
      ({ id, name, locked_at }) =>
        html`The state of <a href="/configurations/${id}/state">${name}</a> has been locked for
          ${between(locked_at, now)}: its jobs wait until it is unlocked.`,
    ),
    ...queued
      .filter(isStuck)
      .slice(0, shown)
      .map(
        (job) =>
          html`${linkTo(job)} of ${nameOf(job)} waits for ${between(job.created_at, now)}.
          ${waiting(job)}`,
      ),
    ...workers
      .filter((worker) => worker.status === "OFFLINE" && !neverStarted(worker))
      .slice(0, shown)
      .map(
        ({ id, name, last_heartbeat }) =>
          html`The worker <a href="/workers/${id}">${name}</a> is
            offline${last_heartbeat === null ? "" : html`: last seen ${ago(last_heartbeat, now)}`}.`,
      ),
  ];
  return items.length === 0
    ? null
    : html`<section class="notice flow" aria-labelledby="attention-title">
        <h2 id="attention-title">Needs you</h2>
        <ul>
          ${items.map((item) => html`<li>${item}</li>`)}
        </ul>
      </section>`;
};
