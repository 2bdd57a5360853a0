/** Which jobs repeat the request of an earlier one, so that a retry does not do it twice. */
import type { Answer } from "./endpoint.ts";
import type { endpoints } from "./endpoints.ts";
import type { Job } from "./jobs.ts";

/** The type of the job that retries this one: a DEPLOY of a plan is planned again. */
export const retriedAs = ({ job_type, plan_job_id }: Job): Job["job_type"] =>
  job_type === "DEPLOY" && plan_job_id !== null ? "PLAN" : job_type;

/** Whether both jobs have the same options, files, worker and labels. */
export const isSameRequest = (job: Job, before: Job): boolean =>
  JSON.stringify(requestOf(job)) === JSON.stringify(requestOf(before));

/** Whether a plan that succeeded can still be deployed, and changes something. */
export const isDeployable = ({
  deploy_job_id,
  not_deployable,
  plan_summary,
}: Answer<typeof endpoints.getPlanSummary>): boolean =>
  deploy_job_id === null && not_deployable === null && plan_summary?.applyable !== false;

const requestOf = ({
  plan_options,
  deployed = false,
  config_snapshot,
  assigned_worker_id,
  labels,
}: Job) => [
  plan_options,
  deployed,
  config_snapshot?.source,
  config_snapshot?.working_directory,
  config_snapshot?.var_files,
  assigned_worker_id,
  labels,
];
