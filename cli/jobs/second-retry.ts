/** Finds what an earlier retry of a job has queued, so that a second one does not do it twice. */
import type { Job } from "../../protocol/jobs.ts";
import { isDeployable, isSameRequest, retriedAs } from "../../protocol/retries.ts";
import { teamWords } from "../api/team.ts";
import { planAgainCommand } from "../plans/plan-again.ts";
import type { Run } from "../run.ts";
import { CliError } from "../terminal/output.ts";
import { deployCommand, followCommand, nameOf } from "./words.ts";

/** How many of the newest jobs are looked at. */
const looked = 20;

/** Throws `CliError` if a later job of the same request is open or has a plan to deploy. */
export async function refuseSecondRetry(run: Run, before: Job): Promise<void> {
  const { api } = run;
  const { configuration_id: configuration, created_at } = before;
  if (configuration === null) return;
  const query = { configuration, job_type: retriedAs(before), limit: looked };
  const { jobs } = await api.call("listJobs", { query });
  const name = before.config_snapshot?.name ?? configuration;
  const since = jobs.filter((job) => job.created_at > created_at && isSameRequest(job, before));
  for (const job of since) {
    // An ordinary command may have queued it, and not a retry.
    const same = `A job with the same request was queued since: the ${nameOf(job)} (job ${job.id}), which is ${job.status}`;
    if (job.status === "QUEUED" || job.status === "PROCESSING")
      throw new CliError(`${same}. Nothing was queued. To follow it: ${followCommand(api, job)}`);
    if (await isPlanToDeploy(run, job))
      throw new CliError(
        `${same} and not deployed yet. Nothing was queued. To deploy it: ${deployCommand(api, job)}\nFor another plan: ${planAgainCommand(job, name)}${teamWords(api.team)}`,
      );
  }
}

const isPlanToDeploy = async ({ api }: Run, { id, job_type, status }: Job): Promise<boolean> =>
  job_type === "PLAN" &&
  status === "SUCCESS" &&
  isDeployable(await api.call("getPlanSummary", { params: { id } }));
