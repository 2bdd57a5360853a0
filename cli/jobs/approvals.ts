/** `jobs approve` and `jobs reject`, and what the client says of deployments that need approvals. */
import type { ApprovalDecision } from "../../protocol/approvals.ts";
import type { Job } from "../../protocol/jobs.ts";
import { approvalsText, approversText, sentence } from "../../protocol/words.ts";
import { withRemedy } from "../api/failures.ts";
import { teamWords } from "../api/team.ts";
import type { Run } from "../run.ts";
import { CliError } from "../terminal/output.ts";
import { findJob } from "./find.ts";
import { actingTeam } from "../teams/acting.ts";
import { consoleAddress, showJob } from "./read.ts";
import { followCommand, staleText } from "./words.ts";

export interface DecideOptions {
  readonly comment?: string | undefined;
}

export async function approve(current: Run, named: string, options: DecideOptions): Promise<void> {
  const { run, job, before } = await decide(current, named, "approve", options);
  const missing = job.approval_need?.missing ?? 0;
  const again = before === "approve" ? " Your approval from before counts once." : "";
  await showJob(run, job);
  const isPlan = job.job_type === "PLAN";
  run.done(
    isPlan && missing === 0
      ? `Approved.${again} It counts for the deployment after the merge, if that plans the same.`
      : missing > 0
        ? `Approved.${again} It still needs ${approvalsText(missing)}.`
        : `Approved.${again} A runner may run it now. To follow it: ${followCommand(run.api, job)}`,
  );
}

export async function reject(current: Run, named: string, options: DecideOptions): Promise<void> {
  const { run, job } = await decide(current, named, "reject", options);
  await showJob(run, job);
  run.done(
    job.job_type === "PLAN"
      ? "Rejected. No approval of this plan counts for the deployment after the merge."
      : "Rejected. The deployment is cancelled.",
  );
}

/** Sends a decision. `before`: what the user had decided before. */
async function decide(
  current: Run,
  named: string,
  decision: ApprovalDecision,
  { comment }: DecideOptions,
): Promise<{
  readonly run: Run;
  readonly job: Job;
  readonly before: ApprovalDecision | undefined;
}> {
  const { run, id } = await findDeployment(current, named);
  const found = await run.api.call("getJob", { params: { id } });
  const { approvals = [] } = found;
  // The server refuses an access token, whatever the plan is.
  const stale =
    decision === "approve" && !run.api.isAccessToken ? staleText(run.api, found) : undefined;
  if (stale !== undefined)
    throw new CliError(
      `Not approved. ${stale}\nTo end this deployment: windlass jobs reject ${id}${teamWords(run.api.team)}`,
    );
  const before = approvals.find(({ email }) => email === run.api.email)?.decision;
  const body = { decision, ...(comment === undefined ? {} : { comment }) };
  try {
    return { run, job: await run.api.call("decideJob", { params: { id }, body }), before };
  } catch (error) {
    throw withRemedy(error, {
      approver_is_author: `To see who can decide: windlass jobs show ${id}${teamWords(run.api.team)}`,
    });
  }
}

/**
 * Refuses `NAME/-` where `jobs show NAME/-` shows another job, such as a plan that was made since:
 * users decide only about what they have seen.
 */
async function findDeployment(current: Run, named: string): ReturnType<typeof findJob> {
  const found = await findJob(current, named, { type: "DEPLOY" });
  const { run, id } = found;
  if (!/(^|\/)-$/.test(named) || (await findJob(run, named)).id === id) return found;
  throw new CliError(
    `The latest job is not a deployment. To see the latest deployment: windlass jobs show ${id}${teamWords(run.api.team)}\nThen pass its id instead of ${named}.`,
    2,
  );
}

/** Who can approve a deployment that waits, and how: with the team, because others type it. */
export async function approvalNote(run: Run, job: Job): Promise<string | undefined> {
  const need = job.approval_need;
  if (!need || need.missing === 0 || job.job_type === "PLAN") return undefined;
  const team = teamWords((await actingTeam(run))?.slug ?? run.api.team);
  return [
    `${sentence(`It ${job.waiting_reason}`)} ${approversText(need)}`,
    `in the console: ${consoleAddress(run, job)}`,
    ...(need.approvers.length === 0
      ? []
      : [`in the client:  windlass jobs approve ${job.id}${team}`]),
    `or reject it:   windlass jobs reject ${job.id}${team}`,
  ].join("\n  ");
}
