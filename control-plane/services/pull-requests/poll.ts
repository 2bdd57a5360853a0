/**
 * Looks at what connections follow: the truth, of which events are only hints. What a look stores and
 * the jobs that it queues are one transaction each, decided by the rows of that moment, so a look that
 * is cut off, repeated or made twice at once neither loses nor repeats a job.
 */
import { v7 as uuid } from "uuid";
import { minute, second } from "../../../common/units.ts";
import type { PullRequest } from "../../code-hosts/code-host.ts";
import { HostError } from "../../code-hosts/host-calls.ts";
import {
  findAnyConnection,
  updateConnection,
  type ConnectionRow,
} from "../../store/connections/connections.ts";
import {
  findDueConnections,
  findFollowers,
  findNextLook,
  findOpenPullRequests,
  findPullRequestByNumber,
  findPusher,
  insertPullRequest,
  renameRepository,
  setNextLook,
  takeTurn,
  updatePullRequest,
  type FollowerRow,
  type PullRequestRow,
} from "../../store/connections/polls.ts";
import type { Queries } from "../../store/db.ts";
import { hostOf, quietAfter } from "../connections/hosts.ts";
import type { Context } from "../context.ts";
import { writeJobs, type AfterCommit } from "../job-changes/changes.ts";
import { runCommands } from "./commands.ts";
import { cancelPlans, planPullRequests } from "./plans.ts";
import { keyOf, type Place } from "./place.ts";
import { deployPushes, planPush } from "./pushes.ts";

/** After so long another server may look: this one has stopped. A look itself ends before. */
const turnMilliseconds = 5 * minute;
const lookMilliseconds = minute;
/** How soon a look that failed is repeated. */
const repeatMilliseconds = minute;
const pagesOfPullRequests = 20;
/** How many earlier pull requests of a branch are asked for one by one. */
const outcomesAtOnce = 100;
/** Pull requests in one transaction. */
const savedAtOnce = 50;
const dueAtOnce = 10;
/** How many connections a server looks at at once; a slow host occupies one of them. */
export const pollers = 4;

/** Looks at connections while one is due. */
export async function pollConnections(context: Context, stop: AbortSignal): Promise<void> {
  const { store, now } = context;
  for (let hasTurn = true; hasTurn && !stop.aborted;) {
    hasTurn = false;
    for (const { id } of await store.read.all(findDueConnections, {
      now: now(),
      limit: dueAtOnce,
    })) {
      if (stop.aborted) return;
      const at = now();
      const row = await store.write((tx) =>
        tx.first(takeTurn, { id, now: at, until: at + turnMilliseconds }),
      );
      if (!row) continue;
      hasTurn = true;
      await takenTurn(context, row, stop);
    }
  }
}

/** What a look found wrong, and how long the host is to be left alone. */
interface Findings {
  readonly problems: string[];
  pause: number;
  /** Whether the host was asked anything. */
  hasLooked: boolean;
}

async function takenTurn(context: Context, row: ConnectionRow, stop: AbortSignal): Promise<void> {
  const { store, now } = context;
  const findings: Findings = { problems: [], pause: 0, hasLooked: false };
  let isWhole = false;
  try {
    await look(context, row, findings, stop);
    isWhole = true;
  } finally {
    if (!isWhole) findings.problems.unshift("the server failed to look: see its log");
    const { problems, pause, hasLooked } = findings;
    const [error = null] = problems;
    const at = now();
    await store.write(async (tx) => {
      const current = await tx.first(findAnyConnection, { id: row.id });
      const next = await tx.first(findNextLook, { connection: row.id });
      if (!current) return;
      await updateConnection(tx, row.id, {
        busy_until: at,
        poll_at: isWhole
          ? Math.min(current.poll_at, next?.look_at ?? Infinity)
          : at + repeatMilliseconds,
        ...(pause > 0 ? { quiet_until: at + pause } : {}),
        ...(hasLooked ? { last_poll_at: at } : {}),
        ...((hasLooked || error !== null) && error !== row.error
          ? { error, error_since: error === null ? null : at }
          : {}),
      });
    });
  }
}

/** Looks at the repositories that are due: at all of them now and then, at one after its event. */
async function look(
  context: Context,
  connection: ConnectionRow,
  findings: Findings,
  stop: AbortSignal,
): Promise<void> {
  const { store, now } = context;
  const { problems } = findings;
  const followers = await store.read.all(findFollowers, { connection: connection.id });
  await deployPushes(context, connection, followers, problems);
  const before = now();
  const until = before + lookMilliseconds;
  const { host } = hostOf(context, connection);
  for (const own of Object.values(Object.groupBy(followers, (one) => one.repository_id))) {
    // What is left is due in the next turn, after those of others.
    if (!own?.some(({ look_at }) => look_at <= before) || now() > until) continue;
    if (stop.aborted) return;
    const [{ repository_id: id, repository: known } = { repository_id: "", repository: "" }] = own;
    const key = { connection: connection.id, repository: id };
    findings.hasLooked = true;
    let next = connection.poll_seconds * second;
    try {
      const repository = await host.repository({ id });
      if (own.some((one) => one.repository !== repository.full_name))
        await store.write((tx) => renameRepository(tx, key, repository.full_name));
      const place = { context, connection, host, repository, problems };
      await lookAtRepository(place, own, () => {
        if (now() > until) throw new HostError("the host is too slow");
        return !stop.aborted;
      });
      if (stop.aborted) return;
    } catch (error) {
      if (!(error instanceof HostError)) throw error;
      problems.push(`${known}: ${error.message}`);
      findings.pause = quietAfter(error);
      next = repeatMilliseconds;
    }
    await store.write((tx) => tx.run(setNextLook, { ...key, before, at: before + next }));
    if (findings.pause > 0) return;
  }
}

/** `goOn` returns whether the server still runs. */
async function lookAtRepository(
  place: Place,
  followers: readonly FollowerRow[],
  goOn: () => boolean,
): Promise<void> {
  const { host, repository } = place;
  const branches = Object.groupBy(followers, (one) => one.branch);
  // Before the pull requests, so that the merges that made these commits are among them.
  const heads = new Map<string, string | null>();
  for (const branch of Object.keys(branches))
    if (goOn()) heads.set(branch, await host.head(repository, branch));
  const listed: PullRequest[] = [];
  let page: number | null = 1;
  for (let pages = 0; page !== null && pages < pagesOfPullRequests && goOn(); pages += 1) {
    const found = await host.pullRequests(repository, page);
    listed.push(...found.items);
    page = found.next;
  }
  await savePullRequests(place, listed);
  await planPullRequests(place, branches, goOn);
  for (const [branch, on = []] of Object.entries(branches)) {
    const head = heads.get(branch);
    if (head && goOn()) await planPush(place, branch, on, head);
  }
  if (goOn()) await runCommands(place, followers);
  await postMergeHeads(place);
}

/** A merge queue waits for the required status of a commit that belongs to no pull request. */
async function postMergeHeads({ context, connection, host, repository }: Place): Promise<void> {
  for (const commit of (await host.mergeHeads?.(repository)) ?? [])
    await host.setStatus(repository, commit, {
      context: connection.status_name,
      state: "success",
      description: "planned on its pull request",
      url: `${context.publicUrl()}/pull-requests`,
    });
}

async function savePullRequests(place: Place, listed: readonly PullRequest[]): Promise<void> {
  const { context, host, repository } = place;
  const key = keyOf(place);
  const before = await context.store.read.all(findOpenPullRequests, key);
  const numbers = new Set(listed.map(({ number }) => number));
  const gone = before.filter((row) => !numbers.has(row.number));
  const ended: [row: PullRequestRow, merged: string | null][] = [];
  for (const row of gone.slice(0, outcomesAtOnce)) {
    const outcome = await host.outcomeOf(repository, row.number).catch((error: unknown) => {
      // Some hosts let pull requests be deleted.
      if (error instanceof HostError && error.status === 404) return { merged: null };
      throw error;
    });
    if (outcome) ended.push([row, outcome.merged]);
  }
  const changed = listed.filter(
    (pull) => !before.some((row) => row.number === pull.number && isSame(row, pull)),
  );
  for (const some of inParts(changed))
    await writeJobs(context, async (tx, afterCommit) => {
      for (const pull of some) await savePullRequest(tx, afterCommit, place, pull, context.now());
    });
  if (ended.length === 0) return;
  await writeJobs(context, async (tx, afterCommit) => {
    const now = context.now();
    for (const [{ id }, merged_commit] of ended) {
      const state = merged_commit === null ? "closed" : "merged";
      await updatePullRequest(tx, id, { state, merged_commit, post_at: now, updated_at: now });
      await cancelPlans(tx, afterCommit, place, id, null, now);
    }
  });
}

/** The writer is not kept for all of 2,000. */
const inParts = <T>(all: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(all.length / savedAtOnce) }, (_, at) =>
    all.slice(at * savedAtOnce, (at + 1) * savedAtOnce),
  );

const columnsOf = ({ title, url, author, head, base, ...pull }: PullRequest) => ({
  title,
  url,
  author_id: author.id,
  author: author.name,
  head_branch: head.branch,
  head_commit: head.commit,
  base_branch: base.branch,
  base_commit: base.commit,
  is_fork: pull.is_fork ? (1 as const) : (0 as const),
  is_draft: pull.is_draft ? (1 as const) : (0 as const),
});

function isSame(row: PullRequestRow, pull: PullRequest): boolean {
  const known: Partial<PullRequestRow> = row;
  return Object.entries(columnsOf(pull)).every(
    ([name, value]) => known[name as keyof PullRequestRow] === value,
  );
}

async function savePullRequest(
  tx: Queries,
  afterCommit: AfterCommit,
  place: Place,
  pull: PullRequest,
  now: number,
): Promise<void> {
  const key = keyOf(place);
  const columns = columnsOf(pull);
  const before = await tx.first(findPullRequestByNumber, { ...key, number: pull.number });
  const pushed = { connection: key.connection, commit: pull.head.commit };
  const pusher_id = (await tx.first(findPusher, pushed))?.account_id ?? null;
  const open = { state: "open", merged_commit: null } as const;
  if (!before)
    return insertPullRequest(tx, {
      id: uuid(),
      owner_id: place.connection.owner_id,
      connection_id: key.connection,
      repository_id: key.repository,
      repository: place.repository.full_name,
      number: pull.number,
      ...columns,
      pusher_id,
      ...open,
      approved_commit: null,
      planned_commit: null,
      skipped: null,
      comment_id: null,
      posted_comment: null,
      posted_status: null,
      post_error: null,
      post_at: now,
      created_at: now,
      updated_at: now,
    });
  const isMoved =
    before.head_commit !== columns.head_commit || before.base_branch !== columns.base_branch;
  const isShown =
    isMoved ||
    before.state !== "open" ||
    before.title !== columns.title ||
    before.is_draft !== columns.is_draft;
  await updatePullRequest(tx, before.id, {
    ...columns,
    ...open,
    ...(isMoved || before.state !== "open" ? { planned_commit: null, skipped: null } : {}),
    ...(isMoved ? { pusher_id } : {}),
    ...(isShown ? { post_at: now, updated_at: now } : {}),
  });
  if (isMoved) await cancelPlans(tx, afterCommit, place, before.id, columns.head_commit, now);
}
