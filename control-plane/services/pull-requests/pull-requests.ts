import type { PullRequest } from "../../../protocol/pull-requests.ts";
import type { Query } from "../../../protocol/endpoint.ts";
import type { Endpoints } from "../../../protocol/endpoints.ts";
import { time } from "../../domain/moments.ts";
import { notFound, RefusalError } from "../../domain/refusal.ts";
import {
  changePullRequest,
  findPullRequest,
  listPullRequests as listRows,
  type PullRequestRow,
} from "../../store/connections/posting.ts";
import { hintLook } from "../../store/connections/follows.ts";
import type { Queries } from "../../store/db.ts";
import { recordOwn } from "../audit/audit.ts";
import type { UserCaller } from "../callers.ts";
import { findNamed } from "../configurations/configurations.ts";
import type { Context } from "../context.ts";
import { countsOf } from "../jobs/views.ts";
import { findBriefSummary } from "../plans/read-summary.ts";
import { needsApproval } from "./forks.ts";
import { plansOf } from "./posting.ts";

export async function listPullRequests(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  {
    configuration,
    ...filter
  }: Pick<Query<Endpoints["listPullRequests"]>, "configuration" | "repository" | "state">,
  before: string | undefined,
  limit: number,
  { digests = true } = {},
): Promise<PullRequest[]> {
  const spec = configuration && (await findNamed(read, owner, configuration)).id;
  const rows = await listRows(read, { owner, spec, ...filter, before, limit });
  const view = digests ? viewWithDigests : viewBriefly;
  const views = [];
  for (const row of rows) views.push(await view(read, row));
  return views;
}

export async function getPullRequest(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  id: string,
): Promise<PullRequest> {
  return viewBriefly(read, await findRow(read, owner, id));
}

/** Lets this commit of a fork be planned. */
export async function approvePullRequest(
  { store, now }: Context,
  user: UserCaller,
  id: string,
  commit: string,
): Promise<PullRequest> {
  const row = await store.write(async (tx) => {
    const found = await findRow(tx, user.space_id, id);
    if (found.head_commit !== commit)
      throw new RefusalError(
        "changed_meanwhile",
        `the pull request is at ${found.head_commit} now: look at that commit, then approve it`,
      );
    if (!needsApproval(found)) return found;
    const at = now();
    const change = { approved_commit: commit, post_at: at, updated_at: at };
    await changePullRequest(tx, found, change);
    // Its connection looks again at once, and plans it.
    await hintLook(tx, found.connection_id, at, found.repository_id);
    const name = `${found.repository}#${found.number}`;
    await recordOwn(
      tx,
      user,
      { action: "pull_request.approve", id, name, details: { commit } },
      at,
    );
    return { ...found, ...change };
  });
  return viewWithDigests(store.read, row);
}

async function findRow(read: Queries, owner: string, id: string): Promise<PullRequestRow> {
  const row = await read.first(findPullRequest, { id, owner });
  if (!row) throw notFound("pull request");
  return row;
}

async function viewWithDigests(read: Queries, row: PullRequestRow): Promise<PullRequest> {
  const pull = await viewBriefly(read, row);
  for (const job of pull.jobs)
    job.digest = (await findBriefSummary(read, job.job_id))?.digest ?? null;
  return pull;
}

/** Without digests, for which whole plans are read. */
async function viewBriefly(read: Queries, row: PullRequestRow): Promise<PullRequest> {
  const plans = await plansOf(read, row);
  const jobs = plans.map((plan) => ({
    configuration: plan.configuration ?? "",
    job_id: plan.job_id,
    status: plan.status,
    changes: countsOf(plan.counts),
    failed_checks: plan.failed_checks,
    digest: null,
  }));
  return {
    id: row.id,
    connection_id: row.connection_id,
    repository: row.repository,
    number: row.number,
    title: row.title,
    author: row.author,
    url: row.url,
    state: row.state,
    head: { branch: row.head_branch, commit: row.head_commit },
    base: { branch: row.base_branch, commit: row.base_commit },
    is_fork: row.is_fork === 1,
    needs_approval: row.state === "open" && needsApproval(row),
    skipped: row.skipped,
    jobs,
    updated_at: time(row.updated_at),
  };
}
