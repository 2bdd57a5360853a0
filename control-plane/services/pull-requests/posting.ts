/**
 * Hosts are told what jobs and pull requests have come to: what they should show is compared with
 * what was posted, so a crash between the two leaves nothing stale, and nothing twice. A row is
 * taken by moving `post_at`; whatever changes meanwhile sets it again, so the row stays due.
 */
import { createHash } from "node:crypto";
import { minute, second } from "../../../common/units.ts";
import type { CodeHost, Status } from "../../code-hosts/code-host.ts";
import { hasEnded } from "../../domain/job.ts";
import { HostError } from "../../code-hosts/host-calls.ts";
import {
  findAnyConnection,
  updateConnection,
  type ConnectionRow,
} from "../../store/connections/connections.ts";
import {
  changeJobChange,
  changePullRequest,
  findDueJobChanges,
  findDuePullRequests,
  findJobsOfMerge,
  findJobsOfPullRequest,
  findNewestFor,
  findRepositoryOf,
  keepPosted,
  type JobChangeRow,
  type PostedJob,
  type PullRequestRow,
} from "../../store/connections/posting.ts";
import type { Queries } from "../../store/db.ts";
import type { Context } from "../context.ts";
import { readPlanSummary } from "../plans/read-summary.ts";
import { commentText, markerOf, type CommentedPlan } from "./comment.ts";
import { needsApproval } from "./forks.ts";
import { askPolitely, quietAfter } from "../connections/hosts.ts";
import { hasChanges, saidOf, type Said } from "./said.ts";

/** Rows of each kind that one round takes. */
const rowsOfRound = 20;
/** Wanted and posted are compared again after this, also if nothing was seen to change. */
const comparedAgain = minute;
/** Longer than all calls of one row may take: another server takes it then. */
const lease = 5 * minute;
/** The jobs of one commit that a comment and an aggregate status count. */
const jobsLimit = 500;
/** The attributes of larger plans are left to the page of the job. */
const attributesLimit = 256 * 1024;

interface Turn {
  readonly context: Context;
  readonly connection: ConnectionRow;
}

/** A host that takes longer over one row is left alone for a while, and others have their turn. */
const slowRow = 5 * second;
/** Connections wait for one another no longer than that, and one row. */
const roundLimit = 10 * second;

/** Connections do not wait for one another. */
export async function postChanges(context: Context, signal: AbortSignal): Promise<void> {
  const { store, now } = context;
  const due = { now: now(), limit: rowsOfRound };
  const jobs = await store.read.all(findDueJobChanges, due);
  const pulls = await store.read.all(findDuePullRequests, due);
  const turns = new Map<string, (() => Promise<void>)[]>();
  const add = (connection: string | null, turn: () => Promise<void>) =>
    turns.set(connection ?? "", [...(turns.get(connection ?? "") ?? []), turn]);
  for (const row of jobs) add(row.connection_id, () => postJob(context, row));
  for (const row of pulls) add(row.connection_id, () => postPullRequest(context, row));
  const ended = await Promise.allSettled(
    [...turns].map(async ([id, rows]) => {
      const until = now() + roundLimit;
      for (const turn of rows) {
        const begun = now();
        if (signal.aborted || begun > until) return;
        await turn();
        if (id !== "" && now() - begun > slowRow)
          await store.write((tx) => updateConnection(tx, id, { quiet_until: now() + minute }));
      }
    }),
  );
  for (const one of ended) if (one.status === "rejected") throw one.reason;
}

async function postJob(context: Context, row: JobChangeRow): Promise<void> {
  const { store, now } = context;
  const until = now() + lease;
  if (!(await store.write((tx) => changeJobChange(tx, row, { post_at: until })))) return;
  const taken = { ...row, post_at: until };
  const end = (change: Partial<JobChangeRow> & { post_at: number | null }) =>
    store.write((tx) => changeJobChange(tx, taken, change));
  const connection = await connectionOf(context, row.connection_id);
  const repository = await store.read.first(findRepositoryOf, { job: row.job_id });
  const newest =
    row.spec_id === null
      ? undefined
      : await findNewestFor(store.read, { spec: row.spec_id, commit: row.commit_id });
  if (!connection || !repository || newest?.job_id !== row.job_id || newest.configuration === null)
    return void (await end({ post_at: null }));
  const { state, description } = await saidOf(store.read, newest);
  try {
    const posted_status = await askPolitely(context, connection, ({ host }) =>
      postStatus(host, repository, row.commit_id, row.posted_status, {
        context: `${connection.status_name}/${newest.configuration}`,
        state,
        description,
        url: `${context.publicUrl()}/jobs/${row.job_id}`,
      }),
    );
    await end({
      posted_status,
      post_error: null,
      post_at: hasEnded(newest) ? null : now() + comparedAgain,
    });
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    await end({ post_error: error.message, post_at: now() + pauseAfter(error) });
  }
}

async function postPullRequest(context: Context, row: PullRequestRow): Promise<void> {
  const { store, now } = context;
  const until = now() + lease;
  if (!(await store.write((tx) => changePullRequest(tx, row, { post_at: until })))) return;
  const taken = { ...row, post_at: until };
  const end = (change: Partial<PullRequestRow> & { post_at: number | null }) =>
    store.write((tx) => changePullRequest(tx, taken, change));
  const connection = await connectionOf(context, row.connection_id);
  const isMerged = row.state === "merged";
  const merged = isMerged ? await jobsOfMerge(store.read, row) : [];
  if (!connection || (isMerged && merged.length === 0)) return void (await end({ post_at: null }));
  const plans: Said[] = [];
  for (const plan of await plansOf(store.read, row)) plans.push(await saidOf(store.read, plan));
  const turn = { context, connection };
  try {
    const posted = await askPolitely(context, connection, async ({ host }) => ({
      posted_status: isMerged
        ? row.posted_status
        : await postStatus(
            host,
            repositoryOf(row),
            row.head_commit,
            row.posted_status,
            aggregateOf(turn, row, plans),
          ),
      posted_comment:
        row.state === "closed"
          ? row.posted_comment
          : await postComment(turn, host, row, plans, merged),
    }));
    // What starts nothing changes only by what makes the row due.
    const isOver = row.state !== "open" || row.skipped !== null;
    await end({ ...posted, post_error: null, post_at: isOver ? null : now() + comparedAgain });
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    // The head of a closed one may be gone for good.
    const isFinal = row.state === "closed" && quietAfter(error) === 0;
    const post_at = isFinal ? null : now() + pauseAfter(error);
    await end({ post_error: error.message, post_at });
  }
}

const connectionOf = (
  { store }: Context,
  id: string | null,
): Promise<ConnectionRow | undefined> | undefined =>
  id === null ? undefined : store.read.first(findAnyConnection, { id });

const repositoryOf = ({ repository_id: id, repository: full_name }: PullRequestRow) => ({
  id,
  full_name,
});

const pauseAfter = (error: HostError): number => Math.max(comparedAgain, error.retryAfter ?? 0);

const digestOf = (value: unknown): string =>
  createHash("sha256").update(JSON.stringify(value)).digest("hex");

/** Returns the digest of what the host shows now. */
async function postStatus(
  host: CodeHost,
  repository: { readonly id: string; readonly full_name: string },
  commit: string,
  posted: string | null,
  { context, description, ...wanted }: Status,
): Promise<string> {
  const status = {
    ...wanted,
    context: cut(context, host.limits.context),
    description: cut(description, host.limits.description),
  };
  const digest = digestOf([commit, status]);
  if (digest !== posted) await host.setStatus(repository, commit, status);
  return digest;
}

/** Characters are counted as a host counts them: a cut never leaves half of one. */
function cut(text: string, limit: number): string {
  const characters = Array.from(text);
  return characters.length <= limit ? text : `${characters.slice(0, limit - 1).join("")}…`;
}

/** The newest plan of each configuration for the head. */
export async function plansOf(
  read: Queries,
  { id, head_commit }: Pick<PullRequestRow, "id" | "head_commit">,
): Promise<readonly PostedJob[]> {
  const all = await findJobsOfPullRequest(read, { id, commit: head_commit, limit: jobsLimit });
  return newestOfEach(all.filter(({ job_type }) => job_type === "PLAN"));
}

/** By configuration. */
function newestOfEach(jobs: readonly PostedJob[]): readonly PostedJob[] {
  const newest = new Map<string, PostedJob>();
  for (const job of jobs)
    if (job.spec_id !== null && job.configuration !== null && !newest.has(job.spec_id))
      newest.set(job.spec_id, job);
  return [...newest.values()].toSorted((a, b) =>
    (a.configuration ?? "").localeCompare(b.configuration ?? "", "en"),
  );
}

/** The newest job of each configuration for what a pull request was merged as. */
async function jobsOfMerge(read: Queries, { id }: PullRequestRow): Promise<readonly Said[]> {
  const jobs = newestOfEach(await findJobsOfMerge(read, { id, limit: jobsLimit }));
  return Promise.all(jobs.map((job) => saidOf(read, job)));
}

function aggregateOf(
  { context, connection }: Turn,
  row: PullRequestRow,
  plans: readonly Said[],
): Status {
  const [only] = plans;
  const url = `${context.publicUrl()}/pull-requests/${row.id}`;
  return {
    ...wholeOf(row, plans),
    context: connection.status_name,
    url: plans.length === 1 && only ? `${context.publicUrl()}/jobs/${only.job_id}` : url,
  };
}

/** What the aggregate status of a pull request says. */
function wholeOf(
  row: PullRequestRow,
  plans: readonly Said[],
): Pick<Status, "state" | "description"> {
  if (row.state === "closed") return { state: "success", description: "closed without a merge" };
  if (row.skipped !== null) return { state: "success", description: row.skipped };
  if (needsApproval(row))
    return { state: "pending", description: "a fork: a person must let this commit be planned" };
  if (row.planned_commit !== row.head_commit)
    return { state: "pending", description: "will be planned" };
  if (plans.length === 0) return { state: "success", description: "touches no configuration" };
  const failed = plans.filter(({ state }) => state === "failure");
  const count = `${plans.length} plan${plans.length === 1 ? "" : "s"}`;
  if (failed.length > 0) {
    const names = failed.map(({ configuration }) => configuration).join(", ");
    return { state: "failure", description: `${failed.length} of ${count} failed: ${names}` };
  }
  const open = plans.filter(({ state }) => state === "pending").length;
  if (open > 0) return { state: "pending", description: `${plans.length - open} of ${count} done` };
  const [first] = plans;
  if (plans.length === 1 && first) return { state: "success", description: first.description };
  const changed = plans.filter(({ counts }) => hasChanges(counts)).length;
  return { state: "success", description: `${count}, ${changed} with changes` };
}

const isShown = ({ comment }: PostedJob): boolean => comment !== "off" && comment !== null;

/** Returns the digest of the comment that the host has; null while it has none. */
async function postComment(
  { context, connection }: Turn,
  host: CodeHost,
  row: PullRequestRow,
  plans: readonly Said[],
  merged: readonly Said[],
): Promise<string | null> {
  const { store } = context;
  const shown = plans.filter(isShown);
  const isOver = shown.every(hasEnded);
  const isWorthIt = [...shown, ...merged.filter(isShown)].some(
    ({ comment, status, counts }) =>
      comment === "always" || (status === "SUCCESS" ? hasChanges(counts) : status === "FAILED"),
  );
  // An unfinished round of plans leaves an earlier comment until all of them have ended.
  if (shown.length === 0 || !isOver || (row.comment_id === null && !isWorthIt))
    return row.posted_comment;
  const marker = markerOf(connection.status_name);
  const commented = [
    ...shown.map((plan) => commentedPlan(context, plan)),
    ...merged.filter(isShown).map((job) => commentedMerge(context, job)),
  ];
  const body = await commentText(commented, row.head_commit, {
    marker,
    hasHtml: host.hasHtmlComments,
    limit: host.limits.comment,
  });
  const digest = digestOf(body);
  if (digest === row.posted_comment && row.comment_id !== null) return digest;
  const repository = repositoryOf(row);
  const known =
    row.comment_id ??
    (host.hasHtmlComments ? await host.findComment(repository, row.number, marker) : null);
  const written =
    (await host.writeComment(repository, row.number, body, known)) ??
    (await host.writeComment(repository, row.number, body, null));
  if (written !== row.comment_id)
    await store.write((tx) => keepPosted(tx, row.id, { comment_id: written }));
  return digest;
}

const commentedPlan = ({ store: { read }, publicUrl }: Context, job: Said): CommentedPlan => ({
  configuration: job.configuration ?? "",
  said: job.description,
  url: `${publicUrl()}/jobs/${job.job_id}`,
  withheld: JSON.parse(job.withheld) as string[],
  read: async () => ({
    error: job.status === "FAILED" ? job.error_message : null,
    summary: await readPlanSummary(read, job.job_id, attributesLimit),
  }),
});

/** What a job after the merge has come to, without the plan again. */
const commentedMerge = ({ publicUrl }: Context, job: Said): CommentedPlan => ({
  configuration: job.configuration ?? "",
  said: `merged as ${job.commit_id.slice(0, 12)}: ${job.description}`,
  url: `${publicUrl()}/jobs/${job.job_id}`,
  withheld: [],
  read: async () => ({
    error: [
      ...(job.status === "FAILED" ? [job.error_message] : []),
      ...(await job.differences()),
    ].join("\n"),
    summary: null,
  }),
});
