/** What pull requests onto followed branches start: a PLAN for each configuration that they touch. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { v7 as uuid } from "uuid";
import type { Change } from "../../../protocol/follow.ts";
import type { PlanSummary } from "../../../protocol/plan-summary.ts";
import { touches, type Changed } from "../../domain/changed-paths.ts";
import { cancel } from "../../domain/job.ts";
import type { Definition } from "../../domain/snapshot-values.ts";
import { findSpec } from "../../store/configurations/configurations.ts";
import type { ConnectionRow } from "../../store/connections/connections.ts";
import {
  findJobsOfPullRequest,
  findOpenPullRequests,
  findPullRequest,
  updatePullRequest,
  type FollowerRow,
  type PullRequestRow,
} from "../../store/connections/polls.ts";
import type { Queries } from "../../store/db.ts";
import { findJob } from "../../store/jobs/jobs.ts";
import { findNewestPlanSummary } from "../../store/plans/summaries.ts";
import { record } from "../audit/audit.ts";
import type { Context } from "../context.ts";
import { shortOf } from "../definitions.ts";
import { changeJob, type AfterCommit } from "../job-changes/changes.ts";
import { queueJobs, type JobRequest } from "../jobs/create.ts";
import { connectionCreator } from "../jobs/creator.ts";
import { needsApproval, tellNeeded } from "./forks.ts";
import { keyOf, settingsOf, type Place } from "./place.ts";

/** `branches`: what follows each of them. `goOn` throws, or returns false, when there is no time left. */
export async function planPullRequests(
  place: Place,
  branches: Readonly<Partial<Record<string, FollowerRow[]>>>,
  goOn: () => boolean,
): Promise<void> {
  const { context, host, repository } = place;
  for (const row of await context.store.read.all(findOpenPullRequests, keyOf(place))) {
    if (row.planned_commit === row.head_commit) continue;
    const followers = branches[row.base_branch] ?? [];
    const skipped = skipReason(row, followers);
    if (skipped !== row.skipped) await saveSkipped(place, row, skipped);
    const may = followers.filter((one) => mayPlan(row, one));
    if (needsApproval({ ...row, skipped })) await tellNeeded(place, row, followers);
    if (skipped !== null || may.length === 0) continue;
    if (!goOn()) return;
    const changed = await host.changedFiles(repository, row.number);
    const wanted = [];
    for (const one of may) {
      if (!goOn()) return;
      if (await isTouched(context, one, changed)) wanted.push(one);
    }
    await planNow(place, row, wanted);
  }
}

/** Why a pull request starts nothing; null if it does, or waits for an approval of its commit. */
export function skipReason(
  { base_branch, is_draft, title, is_fork }: PullRequestRow,
  followers: readonly FollowerRow[],
): string | null {
  if (followers.length === 0) return `no configuration follows ${base_branch}`;
  const planning = followers.map(settingsOf).filter((one) => one.pull_requests === "plan");
  if (planning.length === 0) return "plans of pull requests are off";
  if (is_draft === 1) return "it is a draft";
  if (title.toLowerCase().includes("[skip windlass]")) return "its title says [skip windlass]";
  if (is_fork === 1 && planning.every(({ forks }) => forks === "off"))
    return "plans of forks are off";
  return null;
}

export function mayPlan(
  { is_fork, approved_commit, head_commit }: PullRequestRow,
  follower: FollowerRow,
): boolean {
  const { pull_requests, forks } = settingsOf(follower);
  const mayFork = forks === "approved" && approved_commit === head_commit;
  return pull_requests === "plan" && (is_fork === 0 || mayFork);
}

async function saveSkipped(
  { context }: Place,
  { id, head_commit }: PullRequestRow,
  skipped: string | null,
): Promise<void> {
  await context.store.write(async (tx) => {
    const now = await tx.first(findPullRequest, { id });
    if (now?.head_commit !== head_commit) return;
    const at = context.now();
    await updatePullRequest(tx, id, { skipped, post_at: at, updated_at: at });
  });
}

/** Queues the plans of a commit; the row says in the same transaction that they are queued. */
async function planNow(
  place: Place,
  row: PullRequestRow,
  followers: readonly FollowerRow[],
): Promise<void> {
  const { context } = place;
  const { id, head_commit } = row;
  const skipped = followers.length === 0 ? "it changes no files of a configuration" : null;
  await queueEach(place, followers, {
    requestOf: (one) => requestOf(place, one, changeOfPull(place, row), { pull_request_id: id }),
    before: async (tx, afterCommit) => {
      const now = await tx.first(findPullRequest, { id });
      const isStale =
        now?.state !== "open" ||
        now.head_commit !== head_commit ||
        now.planned_commit === head_commit ||
        now.is_draft !== row.is_draft ||
        now.base_branch !== row.base_branch ||
        now.approved_commit !== row.approved_commit;
      if (isStale) return undefined;
      const at = context.now();
      await cancelPlans(tx, afterCommit, place, id, head_commit, at);
      const change = { planned_commit: head_commit, skipped, post_at: at, updated_at: at };
      await updatePullRequest(tx, id, change);
      // A configuration that follows since then finds those of the others queued.
      const jobs = await tx.all(findJobsOfPullRequest, { pull_request: id });
      return new Set(
        jobs
          .filter((job) => job.commit_id === head_commit && job.status !== "CANCELLED")
          .map(({ spec_id }) => spec_id ?? ""),
      );
    },
  });
}

interface Queueing {
  requestOf(follower: FollowerRow): Promise<JobRequest | undefined>;
  /** Returns the configurations that have their job already; undefined: nothing is to be queued. */
  before(tx: Queries, afterCommit: AfterCommit): Promise<ReadonlySet<string> | undefined>;
}

/** Queues jobs in one transaction. One that is refused is a problem, and the others are queued. */
export async function queueEach(
  { context, connection, problems }: Pick<Place, "context" | "connection" | "problems">,
  followers: readonly FollowerRow[],
  { requestOf: make, before }: Queueing,
): Promise<void> {
  let wanted = followers;
  for (;;) {
    const requests = [];
    for (const one of wanted) {
      const request = await make(one);
      if (request) requests.push(request);
    }
    const refused = await queueJobs(context, connection.owner_id, requests, before);
    if (!refused) return;
    const follower = wanted.find(({ spec_id }) => spec_id === refused.spec);
    problems.push(`a job of the configuration "${follower?.name}" is refused: ${refused.message}`);
    // Others may be queued later, so nothing is noted as queued.
    if (refused.code === "quota_exceeded") return;
    wanted = wanted.filter((one) => one !== follower);
  }
}

/** The pull request whose head is planned, or whose merge made the commit. */
interface Requests {
  readonly pull_request_id?: string | null;
  readonly merged_request_id?: string | null | undefined;
}

/** A request for the PLAN of a commit. Undefined: the configuration has another source by now. */
export async function requestOf(
  { context, connection }: Pick<Place, "context" | "connection">,
  follower: FollowerRow,
  change: Change,
  { pull_request_id = null, merged_request_id = null }: Requests,
): Promise<JobRequest | undefined> {
  const { spec_id, owner_id: owner } = follower;
  const spec = await context.store.read.first(findSpec, { id: spec_id, owner });
  const source = spec && shortOf<Definition>(spec.definition).source;
  if (source?.type !== "git") return undefined;
  const input = {
    job_type: "PLAN",
    configuration_id: spec_id,
    source: { ...source, ref: change.commit },
  } as const;
  const { values } = settingsOf(follower);
  return {
    id: uuid(),
    by: connectionCreator(connection),
    input,
    origin: {
      connection_id: connection.id,
      pull_request_id,
      merged_request_id,
      change,
      isPullRequest: pull_request_id !== null,
      values: pull_request_id === null ? "all" : values,
    },
  };
}

export const changeOfPull = (
  { connection, repository }: Place,
  { base_branch, base_commit, head_commit, ...row }: PullRequestRow,
): Change => ({
  connection_id: connection.id,
  repository: repository.full_name,
  branch: base_branch,
  commit: head_commit,
  ...(base_commit === null ? {} : { base_commit }),
  pull_request: pullRequestOf(row),
  url: row.url,
});

export const pullRequestOf = ({
  number,
  title,
  author,
  url,
  is_fork,
}: Pick<PullRequestRow, "number" | "title" | "author" | "url" | "is_fork">) => ({
  number,
  title,
  author,
  url,
  is_fork: is_fork === 1,
});

/** Whether a change touches the source's path, the trigger paths or the modules of the last plan. */
export async function isTouched(
  { store: { read } }: Context,
  follower: FollowerRow,
  changed: Changed,
): Promise<boolean> {
  const { spec_id, owner_id: owner } = follower;
  // Thousands may follow one repository, and each may take half a second.
  await nextTurn();
  const spec = await read.first(findSpec, { id: spec_id, owner });
  if (!spec) return false;
  const { source, working_directory = "" } = shortOf<Definition>(spec.definition);
  const path = source?.type === "git" ? (source.path ?? "") : "";
  const planned = await read.first(findNewestPlanSummary, { spec: spec_id });
  const { local_modules = [] } = planned ? (JSON.parse(planned.plan_summary) as PlanSummary) : {};
  const { trigger_paths } = settingsOf(follower);
  return touches(changed, {
    directories: [
      path,
      `${path}/${working_directory}`,
      ...local_modules.map((one) => `${path}/${one}`),
    ],
    patterns: trigger_paths,
  });
}

/** Cancels the queued plans of a pull request, except those of the commit `keep`. */
export async function cancelPlans(
  tx: Queries,
  afterCommit: AfterCommit,
  { connection }: Pick<Place, "connection">,
  pull_request: string,
  keep: string | null,
  now: number,
): Promise<void> {
  for (const job of await tx.all(findJobsOfPullRequest, { pull_request }))
    if (job.status === "QUEUED" && job.commit_id !== keep)
      await cancelJob(tx, afterCommit, connection, job.job_id, now);
}

export async function cancelJob(
  tx: Queries,
  afterCommit: AfterCommit,
  connection: ConnectionRow,
  id: string,
  now: number,
): Promise<void> {
  const job = await tx.first(findJob, { id });
  if (job?.status !== "QUEUED") return;
  const { name, actor } = connectionCreator(connection);
  await changeJob(tx, afterCommit, job, cancel(job, name, now), now, { by: actor });
  const details = { status_before: job.status };
  const entry = { action: "job.cancel", id, name: job.job_type, details } as const;
  await record(tx, { by: actor, owner: job.owner_id, ...entry }, now);
}
