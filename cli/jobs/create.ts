/** The verbs of `windlass jobs` that queue or cancel a job. */
import type { CreateJob, Job } from "../../protocol/jobs.ts";
import { canAsk, confirm, notATerminal } from "../terminal/ask.ts";
import { inSpaceOf } from "../configurations/find.ts";
import { deployedInShort } from "../configurations/deployed.ts";
import { ifReadable, withRemedy } from "../api/failures.ts";
import { teamWords } from "../api/team.ts";
import { planOptionsOf, type PlanOptions } from "../../protocol/plan-options.ts";
import { ProblemError } from "../../protocol/transport.ts";
import { approvalRuleText, destroysAll } from "../../protocol/words.ts";
import { confirmPlan } from "../plans/confirm.ts";
import { planAgainCommand, withPlanAgain } from "../plans/plan-again.ts";
import { planView } from "../plans/plan-view.ts";
import { CliError, print, say } from "../terminal/output.ts";
import { shellWord } from "../../common/shell-word.ts";
import { shortOf } from "../terminal/table.ts";
import type { Run } from "../run.ts";
import { refuseLesserRole } from "../teams/acting.ts";
import { workerOf } from "../workers/find.ts";
import { approvalNote } from "./approvals.ts";
import { findJob } from "./find.ts";
import { consoleAddress, showJob, showPlan } from "./read.ts";
import { reportOutcome, watchJob } from "./watch.ts";
import { refuseSecondRetry } from "./second-retry.ts";
import { retryOf, workerLeft } from "./next-steps.ts";
import { deployCommand, endWords, followCommand, nameOf } from "./words.ts";

export interface CreateOptions {
  readonly wait?: true | undefined;
  readonly worker?: string | undefined;
  readonly label?: string[] | undefined;
  readonly debug?: true | undefined;
}
export interface AskingOptions extends CreateOptions {
  readonly yes?: true | undefined;
}

/** How a plan differs from an ordinary one. */
interface PlanOptionWords {
  readonly destroy?: true | undefined;
  readonly refreshOnly?: true | undefined;
  readonly target?: string[] | undefined;
  readonly replace?: string[] | undefined;
  readonly exclude?: string[] | undefined;
}

export interface PlanJobOptions extends CreateOptions, PlanOptionWords {
  readonly detailedExitcode?: true | undefined;
}

export interface DeployOptions extends CreateOptions {
  readonly plan?: string | undefined;
}

/** `jobs plan`. With `--detailed-exitcode`, waits, and ends with 2 if there are changes. */
export async function plan(current: Run, name: string, options: PlanJobOptions): Promise<void> {
  const { run, configuration } = await inSpaceOf(current, name);
  const { id: configuration_id } = configuration;
  const wait = options.wait ?? options.detailedExitcode;
  const body = { job_type: "PLAN" as const, configuration_id, ...planFields(options) };
  const { id } = await queue(run, body, { ...options, wait });
  if (!options.detailedExitcode) return;
  const { plan_summary } = await run.api.call("getPlanSummary", { params: { id } });
  if (plan_summary?.applyable !== false) process.exitCode = 2;
}

/** `jobs deploy`: applies a plan, or plans and applies in one job. */
export async function deploy(
  given: Run,
  name: string | undefined,
  options: DeployOptions,
): Promise<void> {
  const { run: current, configuration } =
    name === undefined ? { run: given, configuration: undefined } : await inSpaceOf(given, name);
  if (options.plan === undefined) {
    if (!configuration)
      throw new CliError("Nothing to deploy. Pass a configuration, or --plan and a job id.", 2);
    const body = { job_type: "DEPLOY", configuration_id: configuration.id } as const;
    await queue(current, body, options).catch((error: unknown) => {
      throw withRemedy(error, { plan_required: planFirst(current, configuration.name) });
    });
    return;
  }
  const { run, id } = await findJob(current, options.plan, { configuration, type: "PLAN" });
  const planned = await run.api.call("getJob", { params: { id } });
  if (
    configuration &&
    planned.configuration_id !== null &&
    configuration.id !== planned.configuration_id
  )
    throw new CliError(`The plan ${planned.id} is not a plan of "${configuration.name}".`, 2);
  refuseUnplanned(run, planned);
  // Who asks for the latest plan means changes; a previewed destruction is deployed by its id only.
  const { destroy, targets = [] } = planned.plan_options ?? {};
  const part = targets.length > 0 ? "its targets" : "all but what it excludes";
  const what = destroysAll(planned.plan_options) ? "everything that" : `${part}, of what`;
  if (options.plan.endsWith("-") && destroy)
    throw new CliError(
      `The latest plan would destroy ${what} ${configuration ? `"${configuration.name}"` : "the configuration"} has deployed. To deploy exactly that plan: ${deployCommand(run.api, planned)}`,
      2,
    );
  await deployPlan(run, planned, options);
}

/** Throws `CliError` if the job is no plan, or has not succeeded. */
function refuseUnplanned({ api }: Run, job: Job): void {
  const { id, job_type, status, config_snapshot } = job;
  const named = `The ${nameOf(job)} (job ${shortOf(id)})`;
  if (job_type !== "PLAN") throw new CliError(`${named} is not a plan.`, 2);
  if (status === "QUEUED" || status === "PROCESSING")
    throw new CliError(
      `${named} is ${status}. To follow it: ${followCommand(api, job)}\nTo deploy it then: ${deployCommand(api, job)}`,
    );
  if (status === "SUCCESS") return;
  const again = planAgainCommand(job, config_snapshot?.name ?? job.configuration_id ?? "NAME");
  throw new CliError(
    `${named} is ${status}, so it cannot be deployed. For a new plan: ${again}${teamWords(api.team)}`,
  );
}

/** What to do where a configuration requires approvals. */
function planFirst({ api }: Run, name: string): string {
  const team = teamWords(api.team);
  return `Run: windlass jobs plan ${shellWord(name)} --wait${team}, then: windlass jobs deploy ${shellWord(name)} --plan - --wait${team}`;
}

/** Queues the deployment of a plan. A refused plan is named with the command that plans again. */
async function deployPlan(run: Run, planned: Job, options: CreateOptions): Promise<void> {
  const { configuration_id, id: plan_job_id, config_snapshot } = planned;
  if (configuration_id === null)
    throw new CliError(`The configuration of the plan ${plan_job_id} has been deleted.`);
  try {
    await queue(run, { job_type: "DEPLOY", configuration_id, plan_job_id }, options);
  } catch (error) {
    const name = config_snapshot?.name ?? configuration_id;
    throw withPlanAgain(error, `${planAgainCommand(planned, name)}${teamWords(run.api.team)}`);
  }
}

/**
 * `jobs destroy`: plans, asks and deploys exactly that plan. With `--yes` it destroys in one job,
 * unless people must approve the plan.
 */
export async function destroy(current: Run, name: string, options: AskingOptions): Promise<void> {
  const { run, configuration } = await inSpaceOf(current, name);
  const { id: configuration_id, name: found, deployed, approval } = configuration;
  const { yes, ...how } = options;
  if (yes && !approval) {
    const job = await create(run, { job_type: "DESTROY", configuration_id }, how);
    const what = deployed ? `: ${deployedInShort(deployed)}` : "";
    run.done(`Destroying everything that "${found}" has deployed${what}.`);
    return queued(run, job, how.wait);
  }
  // Asked before the plan, so that a script does not wait for a plan that it cannot confirm.
  const question = `Destroy everything that "${found}" has deployed?`;
  if (!yes && !canAsk())
    throw new CliError(
      `${question} ${notATerminal} Or plan it first: windlass jobs plan ${shellWord(found)} --destroy${teamWords(run.api.team)}`,
      2,
    );
  // The plan alone would be allowed to a planner.
  await refuseLesserRole(run, "deployer");
  const preview = { job_type: "PLAN" as const, configuration_id, ...planFields({ destroy: true }) };
  const planned = await watchJob(run, await create(run, preview, how));
  const again = `run: windlass jobs destroy ${shellWord(found)}${teamWords(run.api.team)}`;
  await reportOutcome(run, planned, { ...retryOf(run, planned), again });
  const { id } = planned;
  const { plan_summary } = await run.api.call("getPlanSummary", { params: { id } });
  const out = run.json ? say : print;
  if (plan_summary) for (const line of planView(plan_summary)) out(line);
  if (plan_summary?.applyable === false) return run.done(`"${found}" has deployed nothing.`);
  if (approval) out(approvalRuleText(approval));
  await confirmPlan(run, question, planned, { yes });
  await deployPlan(run, planned, how);
}

export async function destroyWorker(run: Run, name: string, options: AskingOptions): Promise<void> {
  const worker = await workerOf(run.api, name);
  const { teardownOf, teardownRemedies } = await import("../workers/teardown.ts");
  const destroys = (await teardownOf(run.api, worker)) ?? "what it was deployed with";
  const what = `the worker "${worker.name}": destroy ${destroys}, and remove the worker`;
  await confirm(`Tear down ${what}?`, options);
  const { yes, ...rest } = options;
  const body = { job_type: "DESTROY_WORKER" as const, assigned_worker_id: worker.id };
  const job = await create(run, body, rest).catch((error: unknown) => {
    throw withRemedy(error, teardownRemedies(run.api, worker.id));
  });
  if (yes) run.done(`Tearing down ${what}.`);
  await queued(run, job, rest.wait);
}

export async function cancel(current: Run, named: string, { wait }: CreateOptions): Promise<void> {
  const { run, id } = await findJob(current, named);
  const job = await cancelled(run, id);
  run.done(
    `The ${nameOf(job)} is cancelled${await terraformText(run, job)}${await workerLeft(run, job)}`,
  );
  // The exit code is 0: a cancelled job is what the user asked for.
  await showJob(run, wait ? await watchJob(run, job, { log: false }) : job);
}

/** What becomes of the terraform of a cancelled job, as the end of a sentence. */
async function terraformText({ api }: Run, job: Job): Promise<string> {
  const { released_at, outcome_unknown, worker_id } = job;
  if (released_at !== null)
    return outcome_unknown ? ". It is not known whether its terraform has ended." : ".";
  const listed = await ifReadable(api.call("listWorkers"));
  if (listed === undefined) return "; its runner stops terraform, unless it is OFFLINE.";
  const worker = listed.workers.find(({ id }) => id === worker_id);
  if (worker?.status !== "OFFLINE") return "; its runner stops terraform.";
  const show = `windlass workers show ${worker.id}${teamWords(api.team)}`;
  return `. Its runner is OFFLINE, so terraform may go on until the runner is back. To see whether it is: ${show}`;
}

/** Cancels the job, if it is not cancelled already. */
async function cancelled({ api }: Run, id: string): Promise<Job> {
  try {
    return await api.call("cancelJob", { params: { id } });
  } catch (error) {
    const { cause } = error as Error;
    if (!(cause instanceof ProblemError) || cause.code !== "job_ended") throw error;
    const job = await api.call("getJob", { params: { id } });
    if (job.status !== "CANCELLED") throw error;
    return job;
  }
}

/** Asks before a destruction. Queues nothing if a job of the same request or its plan is open. */
export async function retry(
  current: Run,
  named: string,
  { wait, yes }: AskingOptions,
): Promise<void> {
  const { run, id } = await findJob(current, named);
  const before = await run.api.call("getJob", { params: { id } });
  const { job_type, plan_job_id, status } = before;
  if (status !== "FAILED" && status !== "CANCELLED")
    throw new CliError(
      `The ${nameOf(before)} (job ${id}) is ${status}, and only a failed or cancelled job can be retried.${
        named.endsWith("-")
          ? ` It is the latest job. To retry an earlier one, pass its id: windlass jobs list${teamWords(run.api.team)}`
          : ""
      }`,
    );
  await refuseSecondRetry(run, before);
  if (job_type === "DESTROY" || job_type === "DESTROY_WORKER")
    await confirm(`Retry the ${nameOf(before)} (job ${id})? It destroys without a plan.`, { yes });
  const { teardownRemedies } = await import("../workers/teardown.ts");
  const job = await run.api.call("retryJob", { params: { id } }).catch((error: unknown) => {
    throw withRemedy(error, teardownRemedies(run.api, before.assigned_worker_id ?? "WORKER"));
  });
  run.done(`Retrying the ${nameOf(before)} (job ${id}), which ${endWords[status]}.`);
  if (job_type === "DEPLOY" && plan_job_id !== null)
    run.done(
      before.started_at === null
        ? `This is a new plan. Nothing is applied yet. The earlier plan was not applied either. To see whether it can still be: windlass jobs show ${plan_job_id} --plan${teamWords(run.api.team)}`
        : "A plan is applied only once, so this is a new plan. Nothing is applied yet.",
    );
  await queued(run, job, wait);
  // With --wait, this is printed with the plan.
  if (job_type === "DEPLOY" && job.job_type === "PLAN" && !wait)
    run.done(`To deploy it then: ${deployCommand(run.api, job)}`);
}

/** Creates a job and shows it, or follows it to its end. Returns it. */
export async function queue(run: Run, body: CreateJob, options: CreateOptions): Promise<Job> {
  const job = await create(run, body, options);
  await queued(run, job, options.wait);
  return job;
}

async function create(
  run: Run,
  body: CreateJob,
  { worker, label, debug }: CreateOptions,
): Promise<Job> {
  const assigned = worker === undefined ? undefined : (await workerOf(run.api, worker)).id;
  return run.api.call("createJob", {
    body: {
      ...body,
      ...(assigned === undefined ? {} : { assigned_worker_id: assigned }),
      ...(label === undefined ? {} : { labels: label.filter(Boolean) }),
      ...(debug ? { debug } : {}),
    },
  });
}

export async function queued(run: Run, job: Job, wait: true | undefined): Promise<void> {
  if (!wait) {
    await showJob(run, job);
    run.done(`Queued.${nothingYet(job)} To follow it to its end: ${followCommand(run.api, job)}`);
    return noteApproval(run, job);
  }
  run.done(`Queued as job ${job.id}. In the console: ${consoleAddress(run, job)}`);
  await noteApproval(run, job);
  const ended = await watchJob(run, job);
  if (run.json) await showJob(run, ended);
  await reportOutcome(run, ended);
  if (!run.json && ended.job_type === "PLAN") await showPlan(run, ended, { attributes: false });
}

/** Says who can approve a deployment that waits for approvals. */
async function noteApproval(run: Run, job: Job): Promise<void> {
  const note = await approvalNote(run, job);
  if (note !== undefined) run.done(note);
}

/** A script that queues a job without --wait must not take its end for granted. */
function nothingYet({ job_type, plan_options }: Job): string {
  if (job_type === "PLAN") return "";
  const isDestroying = job_type !== "DEPLOY" || plan_options?.destroy;
  return ` Nothing is ${isDestroying ? "destroyed" : "deployed"} yet; to wait for it, pass --wait.`;
}

/** Returns the fields of the request; none for an ordinary plan, which any server accepts. */
const planFields = (words: PlanOptionWords): Partial<PlanOptions> =>
  planOptionsOf({
    destroy: words.destroy === true,
    refresh_only: words.refreshOnly === true,
    targets: words.target ?? [],
    replace: words.replace ?? [],
    exclude: words.exclude ?? [],
  }) ?? {};
