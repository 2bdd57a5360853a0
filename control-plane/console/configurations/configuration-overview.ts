import type { Configuration } from "../../../protocol/configurations.ts";
import type { FailedJob } from "../../../protocol/failed-job.ts";
import type { Schedule } from "../../../protocol/schedules.ts";
import type { PlanSummary } from "../../../protocol/plan-summary.ts";
import type { StateLock } from "../../../protocol/state-versions.ts";
import { failedApply, jobTypeWords, outputsNote, sentence } from "../../../protocol/words.ts";
import { time } from "../../domain/moments.ts";
import type { Run } from "../../services/jobs/runs.ts";
import type { JobSummary } from "../../services/jobs/views.ts";
import { jobsOfOne, linkTo } from "../jobs/job-table.ts";
import { runChart } from "../jobs/run-chart.ts";
import type { PullRequest } from "../../../protocol/pull-requests.ts";
import { figure, figures } from "../page/figures.ts";
import { html, type Html } from "../page/html.ts";
import { copyScript } from "../page/secret.ts";
import { ago, isOpen, statusWord, waiting } from "../page/words.ts";
import { driftSection } from "./drift-view.ts";
import { expiryFigure, expiryNotice } from "./expiry-view.ts";
import { followFigure, openPullRequests } from "./follow-view.ts";
import { lastFailed } from "./failed-view.ts";
import { outputs } from "./outputs-view.ts";
import { schedulesSection } from "../schedules/schedules-page.ts";

export interface ConfigurationOverview {
  readonly configuration: Configuration;
  readonly jobs: readonly JobSummary[];
  /** The last runs, newest first. */
  readonly runs: readonly Run[];
  readonly lock: StateLock | null;
  /** The open ones onto the branch that it follows. */
  readonly pulls: readonly PullRequest[];
  /** Whether the reader sees all of the space. */
  readonly seesAll: boolean;
  /** What differs from what was deployed. */
  readonly drifted: PlanSummary | null;
  /** Its own, and those of its zone. */
  readonly schedules: readonly Schedule[];
  readonly now: string;
}

/** The other jobs have a tab. */
const jobsShown = 5;

export const configurationOverview = (model: ConfigurationOverview): Html => {
  const { configuration, jobs, now } = model;
  // The script stands outside of the parts that are drawn again, which run none: outputs may come later.
  return html`<div id="overview" data-live>${notices(model)} ${standing(model)}</div>
    <div id="pulls" data-live>
      ${openPullRequests(configuration, model.pulls, model.seesAll, now)}
    </div>
    <div id="drift" data-live>${driftSection(configuration, model.drifted, now)}</div>
    <div id="outputs" data-live>${outputsOf(configuration)}</div>
    ${copyScript}
    <div id="jobs" data-live>
      ${
        jobs.length === 0
          ? html`<p>
              No job yet. Start a Plan, which shows what terraform would do and changes nothing.
              Then deploy that plan from its page.
            </p>`
          : html`<h2>Latest jobs</h2>
              ${jobsOfOne(jobs.slice(0, jobsShown), now, "Latest jobs")}
              ${
                jobs.length <= jobsShown
                  ? null
                  : html`<p><a href="/configurations/${configuration.id}/jobs">All jobs</a></p>`
              }`
      }
    </div>
    <div id="schedules" data-live>
      ${schedulesSection(model.schedules, `configuration:${configuration.id}`, now)}
    </div>`;
};

/** What a person should know or do. */
const notices = ({ configuration, jobs, lock, now }: ConfigurationOverview): Html => {
  const { id, error_message } = configuration;
  const failed = failedApply(configuration);
  // The job that runs, or the one that waits for the longest. Approvals hold up no other job.
  const open = jobs.findLast(({ status, needs_approval }) => isOpen(status) && !needs_approval);
  return html`${error_message === null ? null : html`<p class="error">${error_message}</p>`}
  ${failed === null ? null : html`<p class="notice flow">${failedNotice(failed, error_message, now)}</p>`}
  ${jobs
    .filter(({ needs_approval }) => needs_approval)
    .map(
      (job) =>
        html`<p class="notice flow">
          A <a href="/jobs/${job.id}">DEPLOY</a> ${job.waiting_reason ?? "waits for approvals"}.
        </p>`,
    )}
  ${
    open === undefined
      ? null
      : html`<p class="notice flow">
          ${linkTo(open)} ${open.status === "QUEUED" ? "waits" : "runs"}. ${waiting(open)}
        </p>`
  }
  ${expiryNotice(configuration, now)}
  ${
    lock === null || lock.held
      ? null
      : html`<p class="notice flow">
          Its state is locked: jobs wait until it is unlocked.
          <a href="/configurations/${id}/state">See why</a>
        </p>`
  }`;
};

/** An apply that failed or was cancelled half-way; its message unless it is shown already. */
const failedNotice = (failed: FailedJob, shown: string | null, now: string): Html =>
  html`The
  ${lastFailed(failed, now)}${failed.error_message === null || shown?.includes(failed.error_message) ? "." : html`: ${sentence(failed.error_message)}`}
  This stays here until an apply or a destruction succeeds.`;

/** What is deployed, and the last runs. */
function standing({ configuration, runs, now }: ConfigurationOverview) {
  const { id, deployed, follow = null } = configuration;
  const [last] = runs;
  if (last === undefined && deployed === null && follow === null && !configuration.expires_at)
    return null;
  return figures(
    [
      deployed === null ? figure("Resources", "None", "Nothing is deployed") : null,
      deployed === null || deployed.serial === null
        ? null
        : figure(
            "Resources",
            String(deployed.resources ?? "Unknown"),
            html`<a href="/configurations/${id}/state">State</a>, serial ${deployed.serial}`,
          ),
      deployed === null
        ? null
        : figure(
            "Last deployment",
            deployed.job_id === null
              ? ago(deployed.at, now)
              : html`<a href="/jobs/${deployed.job_id}">${ago(deployed.at, now)}</a>`,
            deployed.job_id === null
              ? `stored${deployed.by === null ? "" : ` by ${deployed.by}`}`
              : (deployed.by ?? ""),
          ),
      last === undefined
        ? null
        : figure(
            "Last run",
            html`<a href="/jobs/${last.id}">${ago(time(last.created_at), now)}</a>`,
            `${jobTypeWords(last.job_type, last)}: ${statusWord(last.status).toLowerCase()}`,
          ),
      follow && followFigure(follow),
      expiryFigure(configuration, now),
    ],
    runs.length < 2 ? null : runChart(runs, now),
  );
}

/** All of them, and the three that the interface names where a runner has reported them alone. */
const outputsOf = (configuration: Configuration): Html | null => {
  const { id, components } = configuration;
  const named = (["cluster_name", "cluster_endpoint", "gitops_url"] as const)
    .filter((name) => configuration[name] !== null && !components.some((one) => one.name === name))
    .map((name) => ({ name, type: "string", value: configuration[name], sensitive: false }));
  const all = [...named, ...components];
  const state =
    configuration.state_backend === "managed" ? `/configurations/${id}/state` : undefined;
  const shown = outputs(all, configuration.outputs_omitted, state);
  const note = outputsNote(configuration);
  if (shown === null || note === null) return shown;
  return html`${shown}
    <p class="soft">${note}</p>`;
};
