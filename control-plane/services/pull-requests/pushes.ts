/** What a new commit of a followed branch starts: a PLAN, and the DEPLOY of it. */
import { v7 as uuid } from "uuid";
import { HostError } from "../../code-hosts/host-calls.ts";
import { commitUrl } from "../../code-hosts/kinds.ts";
import type { ConnectionRow } from "../../store/connections/connections.ts";
import { findFollow } from "../../store/connections/follows.ts";
import { findAnyDeployOf } from "../../store/connections/job-changes.ts";
import {
  findJobsOfPushes,
  findMergedPullRequest,
  planAgain,
  setSeenCommit,
  type FollowerRow,
} from "../../store/connections/polls.ts";
import type { Queries } from "../../store/db.ts";
import type { Context } from "../context.ts";
import type { AfterCommit } from "../job-changes/changes.ts";
import { connectionCreator } from "../jobs/creator.ts";
import { isApplyable } from "../plans/applyable.ts";
import { cancelJob, isTouched, pullRequestOf, queueEach, requestOf } from "./plans.ts";
import { keyOf, settingsOf, type Place } from "./place.ts";

/** How many of the newest jobs of pushes may still wait. */
const recentJobs = 50;

const gone: ReadonlySet<number> = new Set([404, 409, 422]);

const isNew = ({ seen_commit }: FollowerRow): boolean => seen_commit === null;

export async function planPush(
  place: Place,
  branch: string,
  followers: readonly FollowerRow[],
  head: string,
): Promise<void> {
  const { context, connection, host, repository } = place;
  const key = keyOf(place);
  const old = followers.filter(({ seen_commit }) => seen_commit !== head);
  if (old.some(isNew))
    await context.store.write(async (tx) => {
      for (const one of old.filter(isNew)) await see(tx, one, head);
      await tx.run(planAgain, { ...key, branch });
    });
  for (const [from, those] of Object.entries(Object.groupBy(old, (one) => one.seen_commit ?? ""))) {
    if (from === "") continue;
    const changed = await host.comparedFiles(repository, from, head).catch((error: unknown) => {
      // After a force push the host may no longer know the commit before.
      if (error instanceof HostError && gone.has(error.status)) return { paths: [], isCut: true };
      throw error;
    });
    const merged = await context.store.read.first(findMergedPullRequest, {
      ...key,
      branch,
      commit: head,
    });
    const change = {
      connection_id: connection.id,
      repository: repository.full_name,
      branch,
      commit: head,
      pull_request: merged ? pullRequestOf(merged) : null,
      url: commitUrl(connection.kind, connection.base_url, repository.full_name, head),
    };
    for (const one of those ?? []) {
      const { push } = settingsOf(one);
      const isWanted = push !== "off" && (await isTouched(context, one, changed));
      await queueEach(place, isWanted ? [one] : [], {
        requestOf: () => requestOf(place, one, change, { merged_request_id: merged?.id }),
        before: async (tx, afterCommit) => {
          if (!(await see(tx, one, head))) return undefined;
          if (isWanted) await supersede(tx, afterCommit, connection, one, context.now());
          return new Set();
        },
      });
    }
  }
}

/** Notes the newest commit. Returns false if another look has, or something else is followed now. */
async function see(tx: Queries, follower: FollowerRow, head: string): Promise<boolean> {
  const { spec_id: spec, connection_id, repository_id, branch, seen_commit } = follower;
  const now = await tx.first(findFollow, { spec });
  const isSame =
    now?.connection_id === connection_id &&
    now.repository_id === repository_id &&
    now.branch === branch &&
    now.seen_commit === seen_commit;
  if (isSame) await tx.run(setSeenCommit, { spec, commit: head });
  return isSame;
}

/** Cancels what the connection has queued for earlier commits of the branch. */
async function supersede(
  tx: Queries,
  afterCommit: AfterCommit,
  connection: ConnectionRow,
  { spec_id: spec }: FollowerRow,
  now: number,
): Promise<void> {
  for (const job of await tx.all(findJobsOfPushes, { spec, limit: recentJobs }))
    if (job.status === "QUEUED" && job.creator_id === null)
      await cancelJob(tx, afterCommit, connection, job.job_id, now);
}

/** Queues the DEPLOY of the newest plan of a push, once: not again after it was cancelled. */
export async function deployPushes(
  context: Context,
  connection: ConnectionRow,
  followers: readonly FollowerRow[],
  problems: string[],
): Promise<void> {
  const { read } = context.store;
  for (const one of followers) {
    if (settingsOf(one).push !== "deploy") continue;
    const { spec_id } = one;
    const isDue = async (queries: Queries) => {
      const jobs = await queries.all(findJobsOfPushes, { spec: spec_id, limit: recentJobs });
      const newest = jobs.find(({ job_type }) => job_type === "PLAN");
      if (newest?.status !== "SUCCESS") return undefined;
      const { job_id: plan } = newest;
      return (await queries.first(findAnyDeployOf, { plan })) ? undefined : plan;
    };
    const plan_job_id = await isDue(read);
    if (plan_job_id === undefined || !(await isApplyable(read, plan_job_id))) continue;
    await queueEach({ context, connection, problems }, [one], {
      requestOf: () =>
        Promise.resolve({
          id: uuid(),
          by: connectionCreator(connection),
          input: { job_type: "DEPLOY", configuration_id: spec_id, plan_job_id },
        }),
      before: async (tx) => ((await isDue(tx)) === plan_job_id ? new Set() : undefined),
    });
  }
}
