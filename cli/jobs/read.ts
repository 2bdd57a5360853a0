/** The verbs of `windlass jobs` that read. */
import type { Answer, Query } from "../../protocol/endpoint.ts";
import type { endpoints } from "../../protocol/endpoints.ts";
import type { Job, JobStatus, JobType } from "../../protocol/jobs.ts";
import { teamWords } from "../api/team.ts";
import { lesserRole } from "../teams/acting.ts";
import { workerName } from "../workers/names.ts";
import { clean, CliError, print, say } from "../terminal/output.ts";
import { parseCount, readPages } from "../api/pages.ts";
import type { Run } from "../run.ts";
import { parseTime } from "../terminal/parse-time.ts";
import { ago, time, timeAndAge } from "../terminal/times.ts";
import { printOutputsOf } from "./outputs.ts";
import { planAgainCommand } from "../plans/plan-again.ts";
import { outcomesView, planView } from "../plans/plan-view.ts";
import { withKnown } from "../../protocol/known-plan.ts";
import { planMarkdown, planOptionsWords } from "../../protocol/plan-text.ts";
import {
  approvalWords,
  approversText,
  changesText,
  failedChecksWords,
  gitSourceText,
  idleApprovalsText,
  jobTypeWords,
  resourceProgressWords,
  sentence,
  warningText,
} from "../../protocol/words.ts";
import { reviewedLines } from "../../protocol/reviewed-words.ts";
import { isWaiting } from "../../protocol/waiting-words.ts";
import { inSpaceOf } from "../configurations/find.ts";
import { findZone } from "../zones/find.ts";
import { findJob } from "./find.ts";
import {
  decisionText,
  deployCommand,
  listedStatus,
  styledStatus,
  runTime,
  staleText,
  waitingLine,
} from "./words.ts";

export interface ListOptions {
  readonly status?: string | undefined;
  readonly type?: string | undefined;
  readonly configuration?: string | undefined;
  readonly mine?: true | undefined;
  readonly waitingForMe?: true | undefined;
  readonly zone?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly limit: string;
}

export interface ShowOptions {
  readonly plan?: true | undefined;
  readonly markdown?: true | undefined;
}

export async function list(current: Run, options: ListOptions): Promise<void> {
  const wanted = parseCount("--limit", options.limit);
  const { run, filter } = await filterOf(current, options);
  const { items, more } = await readPages(wanted, async (page) => {
    const { jobs, next_cursor } = await run.api.call("listJobs", { query: { ...page, ...filter } });
    return { items: jobs, next_cursor };
  });
  run.list(
    items,
    {
      TYPE: ({ job_type, plan_options }) => jobTypeWords(job_type, plan_options),
      CONFIGURATION: ({ config_snapshot }) => config_snapshot?.name,
      STATUS: listedStatus,
      CHANGES: (job) => (isUndone(job) ? undefined : job.changes && changesText(job.changes)),
      WHO: ({ created_by }) => created_by,
      CREATED: ({ created_at }) => ago(created_at),
      TOOK: (job) => runTime(job),
      ID: ({ id }) => id,
    },
    noJobs(run, filter),
    { spare: ["TOOK", "WHO"] },
  );
  if (more) run.cut("jobs");
}

/** Whether the job did not make the changes that its plan counts, or only some of them. */
const isUndone = ({ job_type, status }: Pick<Job, "job_type" | "status">): boolean =>
  job_type !== "PLAN" && (status === "FAILED" || status === "CANCELLED");

/** What a list without jobs says. */
function noJobs(
  { api: { team, isAccessToken } }: Run,
  filter: Query<typeof endpoints.listJobs>,
): string {
  if (Object.keys(filter).length === 0)
    return `There are no jobs yet. Queue one: windlass jobs plan CONFIGURATION${teamWords(team)}`;
  if (!filter?.waiting_for_me) return "No jobs match.";
  if (isAccessToken) return "No deployment waits for an access token: only people approve.";
  return team
    ? `No deployment of the team "${team}" waits for your approval.`
    : "No deployment waits for your approval here. To see those of a team, add --team TEAM";
}

/** The query that selects what the options ask, and the run in the space of the configuration. */
async function filterOf(
  current: Run,
  options: ListOptions,
): Promise<{ run: Run; filter: Query<typeof endpoints.listJobs> }> {
  const { status, type, configuration: named, zone, mine, waitingForMe } = options;
  const since = parseTime("--since", options.since);
  const until = parseTime("--until", options.until);
  const { run, configuration } =
    named === undefined
      ? { run: current, configuration: undefined }
      : await inSpaceOf(current, named);
  const { api } = run;
  const filter = {
    ...(status === undefined ? {} : { status: statusOf(status) }),
    ...(type === undefined ? {} : { job_type: typeOf(type) }),
    ...(configuration && { configuration: configuration.id }),
    ...(zone === undefined ? {} : { zone_id: (await findZone(api, zone)).id }),
    ...(mine ? { mine } : {}),
    ...(waitingForMe ? { waiting_for_me: waitingForMe } : {}),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
  };
  return { run, filter };
}

/** Texts say "running" and "succeeded" for two of them. */
const statusWords: Readonly<Record<string, JobStatus>> = {
  running: "PROCESSING",
  succeeded: "SUCCESS",
};

const statusOf = (word: string): JobStatus =>
  statusWords[word] ?? (word.toUpperCase() as JobStatus);

const typeOf = (word: string): JobType => word.toUpperCase().replace("-", "_") as JobType;

export async function show(
  current: Run,
  named: string,
  { plan, markdown }: ShowOptions,
): Promise<void> {
  if (markdown && current.json)
    throw new CliError("Pass --markdown or --json, not both. With --json, pass --plan.", 2);
  const { run, id } = await findJob(current, named);
  if (markdown) return showMarkdown(run, id);
  const job = await run.api.call("getJob", { params: { id } });
  if (!plan) await showJob(run, job);
  if (plan || (!run.json && hasPlan(job))) {
    if (!run.json && !plan) print();
    const outputs = plan || !hasOutputs(job);
    if (!(await showPlan(run, job, { outputs })) && plan) process.exitCode = 1;
  } else if (!run.json && job.resource_progress?.resources)
    for (const line of ["", ...outcomesView(job, job.resource_progress)]) print(line);
  if (!plan && !run.json) await printOutputsOf(run, job);
}

const noSummary = "This job has no plan summary.";

type PlanResponse = Answer<typeof endpoints.getPlanSummary>;

/** A job that planned by itself has a list of what it changed. */
const hasPlan = ({ job_type, status, plan_job_id, changes }: Job): boolean =>
  plan_job_id !== null || (status === "SUCCESS" && (job_type === "PLAN" || changes !== null));

const hasOutputs = ({ execution_metadata }: Job): boolean =>
  Object.keys(execution_metadata?.outputs ?? {}).length > 0;

const isApplied = ({ job_type, ended_at }: Job): boolean =>
  job_type !== "PLAN" && ended_at !== null;

/**
 * With `--json`, the response. `attributes`: with the values that change. `outputs`: with those
 * that it creates. Returns false if it has no plan.
 */
export async function showPlan(
  run: Run,
  job: Job,
  { attributes = true, outputs = true } = {},
): Promise<boolean> {
  const { id, job_type, plan_options } = job;
  const response = await run.api.call("getPlanSummary", { params: { id } });
  const { plan_summary } = response;
  if (run.json) {
    run.show(response, {});
    return plan_summary !== null;
  }
  const options = plan_options ? planOptionsWords(plan_options, plan_summary) : [];
  for (const line of options) print(clean(line));
  const applied = isApplied(job) ? job : undefined;
  if (plan_summary === null) say(noSummary);
  else {
    const deployment = await findDeployment(run, job, response);
    const shown = { attributes, outputs, applied, deployment };
    const plan = applied ? withKnown(plan_summary, job.execution_metadata) : plan_summary;
    for (const line of planView(plan, shown)) print(line);
  }
  if (job_type === "PLAN" && !run.json) run.done(`\n${await planUse(run, job, response)}`);
  return plan_summary !== null;
}

/** Returns the job that deployed the plan of a PLAN, after its end, where the text depends on it. */
async function findDeployment(
  { api }: Run,
  { job_type }: Job,
  { plan_summary, deploy_job_id: id }: PlanResponse,
): Promise<Job | undefined> {
  if (job_type !== "PLAN" || id === null || plan_summary?.complete !== false) return undefined;
  const job = await api.call("getJob", { params: { id } });
  return isApplied(job) ? job : undefined;
}

/** What became of a plan, or how to deploy it. */
async function planUse(
  run: Run,
  job: Job,
  { job_id, plan_summary, deploy_job_id, not_deployable }: PlanResponse,
): Promise<string> {
  if (deploy_job_id) return `This plan is deployed by the job ${deploy_job_id}.`;
  if (plan_summary?.applyable === false) return "There is nothing to deploy.";
  if (not_deployable) {
    const name = job.config_snapshot?.name ?? job.configuration_id ?? "NAME";
    const again = `${planAgainCommand(job, name)}${teamWords(run.api.team)}`;
    return `This plan cannot be deployed: ${sentence(not_deployable.detail)} For a new plan: ${again}`;
  }
  const command = deployCommand(run.api, { id: job_id });
  const lesser = await lesserRole(run, "deployer");
  return lesser
    ? `Ask a deployer to deploy exactly this plan: ${command}`
    : `To deploy exactly this plan: ${command}`;
}

async function showMarkdown(run: Run, id: string): Promise<void> {
  const job = await run.api.call("getJob", { params: { id } });
  const { plan_summary } = await run.api.call("getPlanSummary", { params: { id } });
  if (plan_summary === null) throw new CliError(noSummary);
  const name = job.config_snapshot?.name ?? job.id;
  const applied = isApplied(job) ? job : undefined;
  const plan = applied ? withKnown(plan_summary, job.execution_metadata) : plan_summary;
  print(planMarkdown(name, plan, { applied, options: job.plan_options }).trimEnd());
}

/** The page of a job in the console. */
export const consoleAddress = ({ api }: Run, { id }: Pick<Job, "id">): string =>
  `${api.server}/jobs/${id}`;

/** Who has decided what, a line each, and how many approvals do not count. */
const decisionsText = ({ approvals = [], approval_need: need }: Job): string => {
  const idle = need ? idleApprovalsText(need, approvals) : null;
  return [...approvals.map(decisionText), ...(idle === null ? [] : [idle])].join("\n");
};

export async function showJob(run: Run, job: Job): Promise<void> {
  const { config_snapshot: snapshot, approval_need: need } = job;
  const worker = job.worker_id ?? job.assigned_worker_id;
  run.show(job, {
    id: job.id,
    type: jobTypeWords(job.job_type, job.plan_options),
    configuration: snapshot?.name,
    source:
      snapshot?.source.type === "git"
        ? gitSourceText(snapshot.source, job.execution_metadata?.source_commit)
        : null,
    status: [styledStatus(job.status), ...failedChecksWords(job)].join(", "),
    waiting: isWaiting(job) ? waitingLine(run.api, job, job) : null,
    stale: staleText(run.api, job),
    reviewed: job.reviewed_plan && reviewedLines(job.reviewed_plan).map(clean).join("\n"),
    rule: need && approvalWords(need.rule),
    "as role": need?.role_arn,
    approvals: decisionsText(job),
    approvers: need && need.missing > 0 && !need.plan_staleness ? approversText(need) : null,
    resources:
      job.resource_progress && resourceProgressWords(job.resource_progress, job.ended_at !== null),
    error: job.error_message,
    warnings: job.execution_metadata?.warnings?.map((one) => clean(warningText(one))).join("\n"),
    cancelled:
      job.cancelled_by &&
      `by ${job.cancelled_by}${job.started_at === null ? " before it started" : ""}`,
    lost:
      job.presumed_lost_at &&
      `its runner was lost at ${time(job.presumed_lost_at)}; if it comes back, its report replaces this one, unless its worker was removed`,
    plan: job.plan_job_id,
    worker: worker && !run.json ? await workerName(run, worker) : null,
    labels: job.labels.join(", "),
    created: `${timeAndAge(job.created_at)}${job.created_by ? ` by ${job.created_by}` : ""}`,
    started: job.started_at && time(job.started_at),
    ended: job.ended_at && time(job.ended_at),
    took: runTime(job),
    log:
      job.log_pruned_at === null
        ? job.log_complete === false
          ? "incomplete: the runner did not send all of it"
          : null
        : `removed by retention at ${time(job.log_pruned_at)}`,
    "debug log": debugLogOf(run, job),
    console: consoleAddress(run, job),
  });
}

/** What there is of its debug log. A server that knows of none says neither. */
function debugLogOf(
  { api }: Run,
  { id, debug, debug_log_bytes: bytes, ended_at }: Job,
): string | null {
  if (typeof bytes === "number")
    return `${bytes} bytes, packed: windlass jobs debug-log ${id}${teamWords(api.team)}`;
  if (!debug) return null;
  return ended_at === null ? "comes with the end of the job" : "there is none";
}
