/** The page of one job: where it stands, what it plans or made, and its log. */
import { script } from "../assets.ts";
import type { Job } from "../../../protocol/jobs.ts";
import { withKnown } from "../../../protocol/known-plan.ts";
import { outputOf } from "../../../protocol/outputs.ts";
import {
  destroyedWords,
  destroysAll,
  gitSourceText,
  jobTypeWords,
} from "../../../protocol/words.ts";
import {
  approvalView,
  decideView,
  isRejected,
  waitsForApproval,
} from "../approvals/approval-view.ts";
import { sentence } from "../page/fields.ts";
import { html, type Html } from "../page/html.ts";
import { logView } from "../logs/log-view.ts";
import { planOptionsView } from "../plans/plan-options.ts";
import { outputs } from "../configurations/outputs-view.ts";
import { tabs, type Tab } from "../page/tabs.ts";
import { buttonsOf, notesOf } from "./job-actions.ts";
import { changeView } from "./job-change.ts";
import { jobErrors, jobWarnings } from "./job-errors.ts";
import { linkOf, nameOf, offlineNote, type JobViewModel } from "./job-view-model.ts";
import { cancelText } from "./job-table.ts";
import { planView, type Tense } from "../plans/plan-view.ts";
import { resourcesView } from "./resources-view.ts";
import {
  badge,
  between,
  clock,
  endedAt,
  isOpen,
  jobBadge,
  statusWord,
  howLong,
  lengthOfTime,
  sinceThen,
  size,
  waiting,
} from "../page/words.ts";

export const jobPage = (model: JobViewModel): Html => {
  const { job, plan } = model;
  const isWaiting = waitsForApproval(job);
  const wasRejected = isRejected(job);
  const first = firstPanel(model);
  const look = (panel: Panel): string => (panel === first ? "panel shown" : "panel");
  return html`<nav class="trail" aria-label="Above"><a href="/jobs">Jobs</a></nav>
    <div class="job-head">
      <header class="title" id="job" data-live>
        <h1>${typeOf(job)} ${linkOf(job)}</h1>
        ${jobBadge({ ...job, needs_approval: isWaiting && job.job_type !== "PLAN" && job.plan_job_id !== null })}
        <span class="soft">${timeOf(model)}</span>
        ${job.created_by === null ? null : html`<span class="soft by">by ${job.created_by}</span>`}
      </header>
      <div id="doings" data-live>${buttonsOf(model)}</div>
    </div>
    <div id="notices" data-live>
      ${changeView(job)} ${job.status === "CANCELLED" && !wasRejected ? cancelNotice(model) : null}
      ${wasRejected ? null : jobErrors(job, model.errors)}
      ${jobWarnings(job.execution_metadata?.warnings ?? [])}
      ${job.presumed_lost_at === null ? null : lostNotice(job.presumed_lost_at, model.worker)}
      ${job.waiting_reason === null || isWaiting ? null : html`<p class="notice">${waiting(job)}</p>`}
      ${job.plan_options === null ? null : planOptionsView(job.plan_options, plan)}
      ${notesOf(model)}
    </div>
    <div id="tabs" data-live>
      <div data-first="${first}">${tabs("Parts of the job", `#${first}`, tabsOf(model))}</div>
    </div>
    <div class="${look("changes")}" id="changes">
      <div id="plan" data-live>${planOf(model)} ${approvalView(model)}</div>
      <div id="decide" data-live>${decideView(model)}</div>
      <div id="outputs" data-live>${outputsOf(job)}</div>
    </div>
    <div class="${look("log")}" id="log">
      <div id="steps" data-live>${stepsOf(model)} ${debugLogOf(job)}</div>
      ${logView(job, model.log)}
    </div>
    <div class="${look("resources")}" id="resources" data-live>
      ${resourcesView(model.resources, plan, job)}
    </div>
    <div class="${look("details")}" id="details" data-live>${factsOf(model)}</div>
    ${script("panels.js")} ${script("plan-view.js")}`;
};

type Panel = "changes" | "log" | "resources" | "details";

/** What people look for: what is to be approved or deployed, or was done; else the log. */
function firstPanel({ job, plan, form }: JobViewModel): Panel {
  // Why a form was refused stands there.
  if (waitsForApproval(job) || form.refusal !== undefined) return "changes";
  const isDone = job.status === "SUCCESS" || (job.ended_at !== null && job.started_at === null);
  return plan !== null && isDone ? "changes" : "log";
}

function tabsOf(model: JobViewModel): Tab[] {
  const { job, plan, resources } = model;
  const isChanged = plan !== null || outputsOf(job) !== null || waitsForApproval(job);
  const changes = plan && plan.changes.length + plan.changes_omitted;
  const reached = new Set(resources.list.map(({ address }) => address)).size;
  const hasGraph = plan !== null && job.configuration_id !== null && hasPlan(job);
  return [
    ...(isChanged ? [{ path: "#changes", name: "Changes", count: numberOf(changes ?? 0) }] : []),
    { path: "#log", name: "Log" },
    ...(reached > 0 ? [{ path: "#resources", name: "Resources", count: numberOf(reached) }] : []),
    ...(hasGraph ? [{ path: `/jobs/${job.id}/graph`, name: "Graph" }] : []),
    { path: "#details", name: "Details" },
  ];
}

const numberOf = (count: number): string | undefined =>
  count === 0 ? undefined : count.toLocaleString("en");

/** How long it has taken, or waits. */
const timeOf = ({ job: { created_at, started_at, ended_at }, now }: JobViewModel): Html =>
  ended_at !== null
    ? endedAt(ended_at, between(started_at ?? created_at, ended_at))
    : sinceThen(started_at ?? created_at, now);

/** `PLAN of network`, for the title of its tab. */
export const titleOf = (job: Job): string => `${typeOf(job)} ${nameOf(job)}`;

const typeOf = ({ job_type, plan_options }: Job): string =>
  destroysAll(plan_options) ? jobTypeWords(job_type, plan_options) : `${job_type} of`;

const planOf = ({ job, plan, deployment }: JobViewModel): Html | null => {
  if (plan === null) return null;
  const tense = tenseOf(job);
  const applied = tense === "planned" ? undefined : job;
  const deployed = deployment?.ended_at ? deployment : undefined;
  return planView({
    name: nameOf(job),
    plan: tense === "done" ? withKnown(plan, job.execution_metadata) : plan,
    tense,
    applied,
    deployment: applied ?? deployed,
    options: job.plan_options,
    isLogRemoved: job.log_pruned_at !== null,
  });
};

/** Other jobs plan by themselves, and only what they changed is known. */
const hasPlan = ({ job_type, plan_job_id }: Job): boolean =>
  job_type === "PLAN" || plan_job_id !== null;

/** A PLAN changes nothing; its changes are still to come. */
function tenseOf({ job_type, status }: Job): Tense {
  if (job_type === "PLAN" || isOpen(status)) return "planned";
  return status === "SUCCESS" ? "done" : "tried";
}

const cancelNotice = ({ job, worker, cancel }: JobViewModel): Html =>
  html`<p class="notice flow">
    ${cancelled({ cancel, started_at: job.started_at })} ${offlineNote(job, worker)}
  </p>`;

function cancelled(by: Parameters<typeof cancelText>[0]): Html | string {
  const text = sentence(cancelText(by));
  return by.cancel === null ? text : html`${text.replace(/\.$/, ",")} ${clock(by.cancel.at)}.`;
}

const lostNotice = (at: string, worker: JobViewModel["worker"]): Html =>
  html`<p class="notice flow">
    The runner was lost (${clock(at)}), so it is not known what the job did.
    ${
      worker === null
        ? "Its worker was removed, so its report is not accepted any more: see the state of the configuration for what it has recorded."
        : "If the runner comes back, its report replaces this outcome."
    }
  </p>`;

/** What a DESTROY_WORKER destroys; undefined means everything. */
function targetsOf({ config_snapshot }: Job): string[] | undefined {
  const { targets = [] } = (config_snapshot ?? {}) as { targets?: string[] };
  return targets.length === 0 ? undefined : targets;
}

const stepsOf = ({ job, worker, steps, now }: JobViewModel): Html => {
  const { created_at, claimed_at, started_at, ended_at, released_at, status } = job;
  const by = worker === null ? "" : ` by ${worker.name}`;
  const running = started_at === null ? null : between(started_at, ended_at ?? now);
  const end = status === "FAILED" ? "failed" : status === "CANCELLED" ? "stopped" : undefined;
  const isOver = ended_at !== null;
  return html`<ol class="steps" aria-label="Steps">
    ${step("Queued", created_at, claimed_at === null && ended_at === null ? `waits for ${between(created_at, now)}` : null)}
    ${step(`Claimed${by}`, claimed_at, claimed_at === null ? null : `after ${between(created_at, claimed_at)}`, { isOver })}
    ${step("Started", started_at, started_at !== null && ended_at === null ? `runs for ${running}` : null, { isOver })}
    ${steps.map(({ name, chunk, started_at: at, took_ms, ended_at: until }, index) => {
      const isNow = took_ms === null && ended_at === null;
      const took = took_ms === null ? between(at, ended_at ?? now) : howLong(took_ms);
      // A job that fails or is cancelled goes no further.
      const isLast = index === steps.length - 1;
      return step(
        html`<a href="#C${chunk}">${name}</a>`,
        at,
        isNow ? `for ${took}` : html`${took}${afterEnd(job, until)}`,
        {
          isNow,
          end: isLast ? end : undefined,
        },
      );
    })}
    ${step(ended_at === null ? "Ended" : statusWord(status), ended_at, running !== null && ended_at !== null ? `ran for ${running}` : null, { end })}
    ${
      ended_at !== null && claimed_at !== null && released_at === null
        ? html`<li class="now">
            <strong>Its runner has not released it yet</strong>
            <span>No other job of the configuration can start until then.</span>
          </li>`
        : null
    }
  </ol>`;
};

/** Says when a step ended that went on after the end of its job. */
function afterEnd({ ended_at }: Job, until: string | null): Html | null {
  if (ended_at === null || until === null) return null;
  // What the runner sends about the end of a step and of its job may arrive in either order.
  if (Date.parse(until) - Date.parse(ended_at) < 1000) return null;
  return html`, ended ${clock(until)}, after the end of the job`;
}

const step = (
  name: Html | string,
  time: string | null,
  more: Html | string | null,
  {
    isNow = false,
    isOver = false,
    end,
  }: {
    readonly isNow?: boolean;
    readonly isOver?: boolean;
    /** How its job ended in it, unless with success. */
    readonly end?: "failed" | "stopped" | undefined;
  } = {},
): Html =>
  html`<li class="${end ?? (isNow ? "now" : time === null ? "todo" : "done")}">
    <strong>${name}</strong>
    <span>${time === null ? (isOver ? "never" : "not yet") : clock(time)}</span>
    ${more === null ? null : html`<span>${more}</span>`}
  </li>`;

const outputsOf = ({ execution_metadata, configuration_id: id }: Job): Html | null => {
  const { outputs: reported = {}, outputs_omitted: omitted } = execution_metadata ?? {};
  const all = Object.entries(reported).map(([name, output]) => ({ ...outputOf(output), name }));
  const state = id === null ? undefined : `/configurations/${id}/state`;
  const view = outputs(all, omitted, state);
  return view && html`<section>${view}</section>`;
};

const debugLogOf = ({ id, debug, debug_log_bytes: bytes, ended_at }: Job): Html | null => {
  if (!debug || (bytes === null && ended_at !== null)) return null;
  return html`<p class="soft">
    ${
      bytes === null
        ? "Terraform's debug log can be downloaded here when the job has ended."
        : html`Terraform's debug log may contain secrets: check it before you share it.
            <a href="/api/cli/jobs/${id}/debug-log" download>Download it (${size(bytes)}, gzip)</a>`
    }
  </p>`;
};

const factsOf = ({ job, worker }: JobViewModel): Html => {
  const { source } = job.config_snapshot ?? {};
  const from =
    source?.type === "git"
      ? gitSourceText(source, job.execution_metadata?.source_commit)
      : source?.type === "archive"
        ? `archive ${source.sha256.slice(0, 12)}`
        : source === undefined
          ? "unknown"
          : "files of the configuration";
  return html`<dl class="facts">
    <dt>Job</dt>
    <dd><code>${job.id}</code></dd>
    ${
      job.configuration_id === null
        ? null
        : html`<dt>Configuration</dt>
            <dd>${linkOf(job)}</dd>`
    }
    <dt>Source</dt>
    <dd>${from}</dd>
    ${
      job.job_type === "DESTROY_WORKER"
        ? html`<dt>Destroys</dt>
            <dd>${destroyedWords(targetsOf(job), nameOf(job))}</dd>`
        : null
    }
    <dt>Worker</dt>
    <dd>
      ${worker === null ? (job.worker_id ?? "none yet") : html`<a href="/workers/${worker.id}">${worker.name}</a> ${badge(worker.status)}`}
    </dd>
    ${
      job.plan_job_id === null
        ? null
        : html`<dt>Plan</dt>
            <dd><a href="/jobs/${job.plan_job_id}">the plan that it applies</a></dd>`
    }
    <dt>Labels</dt>
    <dd>${job.labels.length === 0 ? "none" : job.labels.join(", ")}</dd>
    <dt>Claimed</dt>
    <dd>${String(job.attempt)} ${job.attempt === 1 ? "time" : "times"}</dd>
    <dt>Time limit</dt>
    <dd>${lengthOfTime(job.timeout_seconds)}</dd>
  </dl>`;
};
