/** Describes jobs: type, status, run time and outcome. */
import type { Approval } from "../../protocol/approvals.ts";
import type { Job, JobStatus, JobType } from "../../protocol/jobs.ts";
import {
  decisionWords,
  destroysAll,
  failedBy,
  failedChecksWords,
  sentence,
  waitingForApproval,
} from "../../protocol/words.ts";
import { waitingText, type Waiting } from "../../protocol/waiting-words.ts";
import type { Api } from "../api/api.ts";
import { teamWords } from "../api/team.ts";
import { planAgainCommand } from "../plans/plan-again.ts";
import { unlockCommand } from "../states/lock.ts";
import { shellWord } from "../../common/shell-word.ts";
import { styled } from "../terminal/output.ts";
import { ago, duration, shortDuration } from "../terminal/times.ts";

const colours: Readonly<Record<JobStatus, Parameters<typeof styled>[0]>> = {
  QUEUED: "yellow",
  PROCESSING: "cyan",
  SUCCESS: "green",
  FAILED: "red",
  CANCELLED: "magenta",
};

export const styledStatus = (status: JobStatus): string => styled(colours[status], status);

/** Returns the status in a list, with who cancelled or rejected it, and whether it waits for approvals. */
export function listedStatus(job: Job): string {
  const { status, approval_need: need, cancelled_by: by, approvals = [] } = job;
  if (by) return `${styledStatus(status)} by ${by}`;
  const rejection = approvals.find(({ decision }) => decision === "reject");
  if (rejection) return `${styledStatus(status)}, rejected by ${rejection.email}`;
  if (need?.plan_staleness) return `${styledStatus(status)}, plan out of date`;
  const more = need && need.missing > 0 ? [waitingForApproval] : failedChecksWords(job);
  return [styledStatus(status), ...more].join(", ");
}

/** Says why a queued job waits and what the user can do, with the command where there is one. */
export function waitingLine(
  api: Pick<Api, "team">,
  { config_snapshot }: Pick<Job, "config_snapshot">,
  waiting: Waiting,
): string {
  const text = waitingText(waiting);
  const name = config_snapshot?.name;
  if (waiting.waiting_reason !== "state_locked" || name === undefined) return text;
  const command =
    typeof waiting.waiting_details?.job_id === "string"
      ? `windlass configurations show ${shellWord(name)}${teamWords(api.team)}`
      : unlockCommand(api, name);
  return `${text}: ${command}`;
}

/** Says that the plan of a waiting deployment can no longer be applied, and how to make another. */
export function staleText({ team }: Pick<Api, "team">, job: Job): string | undefined {
  const staleness = job.approval_need?.plan_staleness;
  const name = job.config_snapshot?.name;
  if (!staleness || name === undefined) return undefined;
  return `Its plan can no longer be applied. ${staleness}: ${planAgainCommand(job, name)}${teamWords(team)}`;
}

/** Describes a decision, such as `grace@example.com approved 5m ago: only the bastion changes`. */
export const decisionText = ({ email, decision, comment, at }: Approval): string =>
  `${email} ${decisionWords[decision]} ${ago(at)}${comment === null ? "" : `: ${comment}`}`;

/** Returns how long the job ran or has been running; undefined before its start. */
export function runTime({ started_at, ended_at }: Job): string | undefined {
  if (started_at === null) return undefined;
  const start = Date.parse(started_at);
  if (ended_at === null) return duration(Date.now() - start);
  const took = Date.parse(ended_at) - start;
  return took < 950 ? shortDuration(took) : duration(took);
}

const verbs: Readonly<Record<JobType, string>> = {
  PLAN: "plan",
  DEPLOY: "deployment",
  DESTROY: "destruction",
  DESTROY_WORKER: "teardown",
};

/** Returns a title such as `plan of "network"` or `plan to destroy "network"`. */
export function nameOf(job: Job): string {
  const name = job.config_snapshot?.name;
  const verb = verbs[job.job_type];
  if (name === undefined) return verb;
  return destroysAll(job.plan_options) ? `${verb} to destroy "${name}"` : `${verb} of "${name}"`;
}

/** The command that deploys exactly this plan. */
export const deployCommand = ({ team }: Pick<Api, "team">, { id }: Pick<Job, "id">): string =>
  `windlass jobs deploy --plan ${id} --wait${teamWords(team)}`;

export const followCommand = ({ team }: Pick<Api, "team">, { id }: Pick<Job, "id">): string =>
  `windlass jobs logs ${id} --follow${teamWords(team)}`;

export const endWords = {
  SUCCESS: "succeeded",
  FAILED: "failed",
  CANCELLED: "was cancelled",
} as const satisfies Partial<Readonly<Record<JobStatus, string>>>;

/** Characters of an error that the log has. */
const errorLimit = 300;

const inShort = (message: string | null): string | null =>
  message === null || message.length <= errorLimit
    ? message
    : `${message.slice(0, errorLimit).toWellFormed()}…`;

/** The outcome in a sentence. Of terraform's errors, which the log has shown, the first in short. */
export function outcomeText(job: Job): string {
  const took = runTime(job);
  const time = took === undefined ? "" : ` after ${took}`;
  // The log shows terraform's errors. That of an overtaken plan decides what to do.
  const isWhole = job.log_complete === false || failedBy(job, "plan_overtaken");
  const hasErrors = !isWhole && job.failure?.summary !== undefined;
  const reason = hasErrors ? inShort(job.error_message) : job.error_message;
  const { status } = job;
  const isOpen = status === "QUEUED" || status === "PROCESSING";
  const end = isOpen ? "has not ended" : endWords[status];
  const [warning] = failedChecksWords(job);
  const why = reason === null ? (warning === undefined ? "" : `, but ${warning}`) : `: ${reason}`;
  return sentence(`The ${nameOf(job)} ${end}${time}${why}`);
}
