/** SQL of the poller: whose turn it is, what is followed, and the pull requests that were seen. */
import { sql, type RawBuilder } from "kysely";
import type { Queries } from "../db.ts";
import { connectionsBy, followsBy, jobChangesBy, pullRequestsBy } from "../indexed.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";
import type { ConnectionRow } from "./connections.ts";
import type { FollowRow } from "./follows.ts";

export type PullRequestRow = Row<"pull_requests">;

/** Whether no connection of the space of `connections` is looked at. */
const isAlone = (now: number): RawBuilder<boolean> => sql<boolean>`(not exists (
  select 1 from connections as other
    where other.owner_id = connections.owner_id and other.busy_until > ${now}))`;

/**
 * Connections to look at, the one that waits longest first. One of a space at a time: a space with
 * many slow hosts keeps no other one waiting.
 */
export const findDueConnections = statement<{ now: number; limit: number }, { id: string }>(
  (db, { now, limit }) =>
    db
      .selectFrom(connectionsBy("connections_poll"))
      .select("id")
      .where("poll_at", "<=", now)
      .where("busy_until", "<=", now)
      .where("quiet_until", "<=", now)
      .where(isAlone(now))
      .orderBy("poll_at")
      .limit(limit),
);

/** Takes the turn of a connection for one server. Returns nothing if another one has taken it. */
export const takeTurn = statement<{ id: string; now: number; until: number }, ConnectionRow>(
  (db, { id, now, until }) =>
    db
      .updateTable("connections")
      .set((set) => ({
        busy_until: until,
        poll_at: sql<number>`cast(${now} as bigint) + ${set.ref("poll_seconds")} * 1000`,
      }))
      .where("id", "=", id)
      .where("poll_at", "<=", now)
      .where("busy_until", "<=", now)
      // Servers and their pollers have read what is due before one of them took another of the space.
      .where(isAlone(now))
      .returningAll(),
);

/** A configuration that follows a branch, with what a job of it needs. */
export type FollowerRow = FollowRow & { readonly name: string; readonly owner_id: string };

export const findFollowers = statement<{ connection: string }, FollowerRow>((db, { connection }) =>
  db
    .selectFrom(followsBy("follows_connection"))
    .innerJoin("specs", "specs.id", "follows.spec_id")
    .selectAll("follows")
    .select(["specs.name", "specs.owner_id"])
    .where("follows.connection_id", "=", connection)
    .where("specs.deleted_owner_id", "is", null),
);

/** Notes when a repository is looked at next, unless an event has said so since `before`. */
export const setNextLook = statement<RepositoryParams & { before: number; at: number }>(
  (db, { connection, repository, before, at }) =>
    db
      .updateTable("follows")
      .set({ look_at: at })
      .where("connection_id", "=", connection)
      .where("repository_id", "=", repository)
      .where("look_at", "<=", before),
);

export const findNextLook = statement<{ connection: string }, { look_at: number | null }>(
  (db, { connection }) =>
    db
      .selectFrom("follows")
      .select((select) => select.fn.min<number | null>("look_at").as("look_at"))
      .where("connection_id", "=", connection),
);

export type RepositoryParams = { connection: string; repository: string };

/** After a rename. `name`: what it is called now. */
export async function renameRepository(
  tx: Queries,
  { connection, repository }: RepositoryParams,
  name: string,
): Promise<void> {
  for (const table of ["follows", "pull_requests"] as const)
    await tx.sql
      .updateTable(table)
      .set({ repository: name })
      .where("connection_id", "=", connection)
      .where("repository_id", "=", repository)
      .execute();
}

export const setSeenCommit = statement<{ spec: string; commit: string }>((db, { spec, commit }) =>
  db.updateTable("follows").set({ seen_commit: commit }).where("spec_id", "=", spec),
);

export const findOpenPullRequests = statement<RepositoryParams, PullRequestRow>(
  (db, { connection, repository }) =>
    db
      .selectFrom(pullRequestsBy("pull_requests_open"))
      .selectAll()
      .where("connection_id", "=", connection)
      .where("repository_id", "=", repository)
      .where("state", "=", sql.lit("open" as const)),
);

export const findPullRequestByNumber = statement<
  RepositoryParams & { number: number },
  PullRequestRow
>((db, { connection, repository, number }) =>
  db
    .selectFrom("pull_requests")
    .selectAll()
    .where("connection_id", "=", connection)
    .where("repository_id", "=", repository)
    .where("number", "=", number),
);

/** The newest pull request whose merge made this commit of a branch. */
export const findMergedPullRequest = statement<
  RepositoryParams & { branch: string; commit: string },
  PullRequestRow
>((db, { connection, repository, branch, commit }) =>
  db
    .selectFrom(pullRequestsBy("pull_requests_number"))
    .selectAll()
    .where("connection_id", "=", connection)
    .where("repository_id", "=", repository)
    .where("merged_commit", "=", commit)
    .where("base_branch", "=", branch)
    .orderBy("number", "desc")
    .limit(1),
);

export const findPullRequest = statement<{ id: string }, PullRequestRow>((db, { id }) =>
  db.selectFrom("pull_requests").selectAll().where("id", "=", id),
);

/** Of an event that comes after the poller has seen the commit. */
export const setPusher = statement<{ connection: string; commit: string; account: string }>(
  (db, { connection, commit, account }) =>
    db
      .updateTable("pull_requests")
      .set({ pusher_id: account })
      .where("connection_id", "=", connection)
      .where("state", "=", sql.lit("open" as const))
      .where("head_commit", "=", commit),
);

/** Of an event that came before. */
export const findPusher = statement<
  { connection: string; commit: string },
  { account_id: string | null }
>((db, { connection, commit }) =>
  db
    .selectFrom("connection_events")
    .select("account_id")
    .where("connection_id", "=", connection)
    .where("commit_id", "=", commit)
    .orderBy("received_at", "desc")
    .limit(1),
);

export async function insertPullRequest(tx: Queries, row: PullRequestRow): Promise<void> {
  await tx.sql.insertInto("pull_requests").values(row).execute();
}

export async function updatePullRequest(
  tx: Queries,
  id: string,
  change: Partial<PullRequestRow>,
): Promise<void> {
  await tx.sql.updateTable("pull_requests").set(change).where("id", "=", id).execute();
}

/** Lets the open ones onto a branch be planned, by a configuration that begins to follow it. */
export const planAgain = statement<RepositoryParams & { branch: string }>(
  (db, { connection, repository, branch }) =>
    db
      .updateTable("pull_requests")
      .set({ planned_commit: null })
      .where("connection_id", "=", connection)
      .where("repository_id", "=", repository)
      .where("state", "=", sql.lit("open" as const))
      .where("base_branch", "=", branch),
);

/** Jobs of a pull request, of all its commits. */
export const findJobsOfPullRequest = statement<
  { pull_request: string },
  { job_id: string; spec_id: string | null; commit_id: string; status: string }
>((db, { pull_request }) =>
  db
    .selectFrom(jobChangesBy("job_changes_pull_request"))
    .innerJoin("jobs", "jobs.id", "job_changes.job_id")
    .select(["job_changes.job_id", "job_changes.spec_id", "job_changes.commit_id", "jobs.status"])
    .where("job_changes.pull_request_id", "=", pull_request),
);

/** The newest jobs of pushes to the branch that a configuration follows. */
export const findJobsOfPushes = statement<
  { spec: string; limit: number },
  {
    job_id: string;
    commit_id: string;
    job_type: string;
    status: string;
    creator_id: string | null;
    ended_at: number | null;
  }
>((db, { spec, limit }) =>
  db
    .selectFrom(jobChangesBy("job_changes_spec"))
    .innerJoin("jobs", "jobs.id", "job_changes.job_id")
    .select([
      "job_changes.job_id",
      "job_changes.commit_id",
      "jobs.job_type",
      "jobs.status",
      "jobs.creator_id",
      "jobs.ended_at",
    ])
    .where("job_changes.spec_id", "=", spec)
    .where("job_changes.pull_request_id", "is", null)
    .orderBy("job_changes.job_id", "desc")
    .limit(limit),
);
