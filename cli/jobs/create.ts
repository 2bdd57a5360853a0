/** The verbs of `windlass jobs` that queue a job, or end one. */
import type { CreateJob, Job } from "../../protocol/jobs.ts";
import { confirm } from "../terminal/ask.ts";
import { configurationOf } from "../configurations/find.ts";
import { find } from "../api/find.ts";
import { Failure } from "../terminal/output.ts";
import type { Run } from "../run.ts";
import { showJob, showPlan } from "./read.ts";
import { mirror, watchJob } from "./watch.ts";
import { nameOf } from "./words.ts";

export interface CreateOptions {
  readonly wait?: true | undefined;
  readonly worker?: string | undefined;
  readonly label?: string[] | undefined;
  readonly debug?: true | undefined;
}
export interface AskingOptions extends CreateOptions {
  readonly yes?: true | undefined;
}

export interface DeployOptions extends CreateOptions {
  readonly plan?: string | undefined;
}

/** `jobs plan`. */
export async function plan(run: Run, name: string, options: CreateOptions): Promise<void> {
  const { id } = await configurationOf(run.api, name);
  await queue(run, { job_type: "PLAN", configuration_id: id }, options);
}

/** `jobs deploy`: of a plan, or plan and apply in one go. */
export async function deploy(
  run: Run,
  name: string | undefined,
  options: DeployOptions,
): Promise<void> {
  const configuration = name === undefined ? undefined : await configurationOf(run.api, name);
  if (options.plan === undefined) {
    if (!configuration)
      throw new Failure("what to deploy? Name a configuration, or --plan and a job", 2);
    return queue(run, { job_type: "DEPLOY", configuration_id: configuration.id }, options);
  }
  const planned = await run.api.call("getJob", { params: { id: options.plan } });
  if (planned.configuration_id === null)
    throw new Failure("the configuration of that plan is deleted");
  if (configuration && configuration.id !== planned.configuration_id)
    throw new Failure(`that is a plan of another configuration than "${configuration.name}"`, 2);
  const { configuration_id, id: plan_job_id } = planned;
  await queue(run, { job_type: "DEPLOY", configuration_id, plan_job_id }, options);
}

/** `jobs destroy`: asks first. */
export async function destroy(run: Run, name: string, options: AskingOptions): Promise<void> {
  const configuration = await configurationOf(run.api, name);
  await confirm(`Destroy everything that "${configuration.name}" has deployed?`, options);
  await queue(run, { job_type: "DESTROY", configuration_id: configuration.id }, options);
}

/** `jobs destroy-worker`: asks first. */
export async function destroyWorker(run: Run, name: string, options: AskingOptions): Promise<void> {
  const worker = await workerOf(run, name);
  const { teardownOf } = await import("../workers/teardown.ts");
  const destroys = (await teardownOf(run.api, worker)) ?? "what it was deployed with";
  const what = `the worker "${worker.name}": destroy ${destroys}, and remove the worker`;
  if (options.yes) run.done(`Tears down ${what}.`);
  await confirm(`Tear down ${what}?`, options);
  const { yes: _, ...rest } = options;
  await queue(run, { job_type: "DESTROY_WORKER", assigned_worker_id: worker.id }, rest);
}

/** `jobs cancel`. */
export async function cancel(run: Run, id: string, { wait }: CreateOptions): Promise<void> {
  const job = await run.api.call("cancelJob", { params: { id } });
  run.done(
    `The ${nameOf(job)} is cancelled${job.released_at === null ? "; its runner stops terraform" : ""}.`,
  );
  // What was asked for is its cancellation, so that is success here.
  showJob(run, wait ? await watchJob(run, job, { log: false }) : job);
}

/** `jobs retry`. */
export async function retry(run: Run, id: string, { wait }: CreateOptions): Promise<void> {
  await queued(run, await run.api.call("retryJob", { params: { id } }), wait);
}

async function queue(run: Run, body: CreateJob, options: CreateOptions): Promise<void> {
  const { wait, worker, label, debug } = options;
  const assigned = worker === undefined ? undefined : (await workerOf(run, worker)).id;
  const job = await run.api.call("createJob", {
    body: {
      ...body,
      ...(assigned === undefined ? {} : { assigned_worker_id: assigned }),
      ...(label === undefined ? {} : { labels: label }),
      ...(debug ? { debug } : {}),
    },
  });
  await queued(run, job, wait);
}

async function queued(run: Run, job: Job, wait: true | undefined): Promise<void> {
  if (!wait) {
    showJob(run, job);
    return run.done(`Queued. To see it happen: windlass jobs logs ${job.id} --follow`);
  }
  run.done(`Queued as job ${job.id}.`);
  const ended = await watchJob(run, job);
  if (run.json) showJob(run, ended);
  else if (ended.job_type === "PLAN" && ended.status === "SUCCESS") await showPlan(run, ended);
  mirror(run, ended);
  if (ended.job_type === "PLAN")
    run.done(`To deploy exactly this plan: windlass jobs deploy --plan ${ended.id} --wait`);
}

const workerOf = async ({ api }: Run, name: string) =>
  find("worker", "workers", (await api.call("listWorkers")).workers, name);
