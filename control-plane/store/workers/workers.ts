import { sql, type Kysely, type RawBuilder } from "kysely";
import type { WorkerRow } from "../../domain/worker.ts";
import type { Queries } from "../db.ts";
import { forUpdate } from "../dialect.ts";
import { registrationTokensBy, workersBy } from "../indexed.ts";
import { statement } from "../statement.ts";
import type { Row, Tables } from "../tables.ts";

/** The fields of a worker that each of its calls needs. */
export type WorkerCallerRow = Pick<
  WorkerRow,
  | "id"
  | "owner_id"
  | "name"
  | "mode"
  | "labels"
  | "features"
  | "offline_at"
  | "draining_at"
  | "last_call_at"
  | "last_heartbeat_at"
  | "instance_id"
  | "token_hash"
  | "old_token_hash"
  | "old_token_expires_at"
  | "ephemeral"
>;

export const findWorkerCaller = statement<{ id: string }, WorkerCallerRow>((db, { id }) =>
  db
    .selectFrom("workers")
    .select([
      "id",
      "owner_id",
      "name",
      "mode",
      "labels",
      "features",
      "offline_at",
      "draining_at",
      "last_call_at",
      "last_heartbeat_at",
      "instance_id",
      "token_hash",
      "old_token_hash",
      "old_token_expires_at",
      "ephemeral",
    ])
    .where("id", "=", id),
);

/** Keeps other shared changes that lock the worker waiting until the end of this one. */
export const lockWorker = statement<{ id: string }, { id: string }>((db, { id }) =>
  forUpdate(db, db.selectFrom("workers").select("id").where("id", "=", id)),
);

/** Locks several workers, whose ids are a JSON list, always in the same order. */
export const lockWorkers = statement<{ ids: string }, { id: string }>((db, { ids }) =>
  forUpdate(
    db,
    db
      .selectFrom("workers")
      .select("id")
      .where("id", "in", sql<string>`(select value from json_each(${ids}))`)
      .orderBy("id"),
  ),
);

export const findWorker = statement<{ id: string }, WorkerRow>((db, { id }) =>
  db.selectFrom("workers").selectAll().where("id", "=", id),
);

/** A worker of an owner. Cloud-hosted workers have no owner and are never found here. */
export const findOwnWorker = statement<{ id: string; owner: string }, WorkerRow>(
  (db, { id, owner }) =>
    db.selectFrom("workers").selectAll().where("id", "=", id).where("owner_id", "=", owner),
);

/** A worker that a user may see: an own one, or a cloud-hosted one. */
export const findVisibleWorker = statement<{ id: string; owner: string }, WorkerRow>(
  (db, { id, owner }) =>
    db
      .selectFrom("workers")
      .selectAll()
      .where("id", "=", id)
      .where((where) => where.or([where("owner_id", "=", owner), where("owner_id", "is", null)])),
);

export interface HeartbeatParams {
  readonly [name: string]: string | number | null;
  readonly id: string;
  readonly now: number;
  readonly version: string;
  readonly instance_id: string | null;
  readonly hostname: string | null;
  readonly os: string | null;
  readonly arch: string | null;
  readonly capacity: number | null;
  readonly isolation: string | null;
  readonly labels: string | null;
  readonly features: string;
  readonly active_job_ids: string | null;
}

/** Keeps what it does not mention, except active jobs and features. Ends OFFLINE. */
export const recordHeartbeat = statement<HeartbeatParams>((db, params) =>
  db
    .updateTable("workers")
    .set((set) => ({
      last_heartbeat_at: params.now,
      offline_at: null,
      version: params.version,
      instance_id: set.fn.coalesce(set.val(params.instance_id), "instance_id"),
      hostname: set.fn.coalesce(set.val(params.hostname), "hostname"),
      os: set.fn.coalesce(set.val(params.os), "os"),
      arch: set.fn.coalesce(set.val(params.arch), "arch"),
      capacity: set.fn.coalesce(set.val(params.capacity), "capacity"),
      isolation: set.fn.coalesce(set.val(params.isolation), "isolation"),
      labels: set.fn.coalesce(set.val(params.labels), "labels"),
      features: params.features,
      active_job_ids: params.active_job_ids,
    }))
    .where("id", "=", params.id),
);

/** Ends that a worker is OFFLINE, or was never online. No row: another heartbeat has done it. */
export const markOnline = statement<{ id: string; now: number }, { id: string }>(
  (db, { id, now }) =>
    db
      .updateTable("workers")
      .set({ offline_at: null, last_heartbeat_at: now })
      .where("id", "=", id)
      .where((where) =>
        where.or([where("offline_at", "is not", null), where("last_heartbeat_at", "is", null)]),
      )
      .returning("id"),
);

/** Marks a worker OFFLINE whose agent says that it ends; the next agent may be another instance. */
export const recordLeaving = statement<{ id: string; now: number }>((db, { id, now }) =>
  db.updateTable("workers").set({ offline_at: now, instance_id: null }).where("id", "=", id),
);

/** An authenticated call of a worker that is OFFLINE: delays the loss of its jobs. */
export const recordCall = statement<{ id: string; now: number }>((db, { id, now }) =>
  db.updateTable("workers").set({ last_call_at: now }).where("id", "=", id),
);

/** Their own and the cloud-hosted ones, newest first. */
export async function listWorkerIds(
  { sql: db }: Queries,
  owner: string,
  before: string | undefined,
  limit: number,
): Promise<string[]> {
  // A query for each, because an `or` would read and sort all of them.
  const newest = async (isOwn: boolean) => {
    const workers = db.selectFrom(workersBy("workers_owner")).select("id");
    let query = isOwn
      ? workers.where("owner_id", "=", owner)
      : workers.where("owner_id", "is", null);
    if (before !== undefined) query = query.where("id", "<", before);
    return query.orderBy("id", "desc").limit(limit).execute();
  };
  return [...(await newest(true)), ...(await newest(false))]
    .map(({ id }) => id)
    .toSorted()
    .toReversed()
    .slice(0, limit);
}

export async function insertWorker(tx: Queries, worker: WorkerRow): Promise<void> {
  await tx.sql.insertInto("workers").values(worker).execute();
}

export async function updateWorker(
  tx: Queries,
  id: string,
  change: Partial<Omit<WorkerRow, "id">>,
): Promise<void> {
  await tx.sql.updateTable("workers").set(change).where("id", "=", id).execute();
}

export async function deleteWorker(tx: Queries, id: string): Promise<void> {
  await tx.sql.deleteFrom("workers").where("id", "=", id).execute();
}

/** In one statement; undefined if it is used up or expired. */
export const useRegistrationToken = statement<
  { token_hash: string; now: number },
  { owner_id: string; ephemeral: number }
>((db, { token_hash, now }) =>
  db
    .updateTable("registration_tokens")
    .set((set) => ({ uses_left: set("uses_left", "-", 1) }))
    .where("token_hash", "=", token_hash)
    .where("uses_left", ">", 0)
    .where("expires_at", ">", now)
    .returning(["owner_id", "ephemeral"]),
);

/** Whether a registration token is good, without using it. */
export const findRegistrationToken = statement<
  { token_hash: string; now: number },
  { owner_id: string }
>((db, { token_hash, now }) =>
  db
    .selectFrom("registration_tokens")
    .select("owner_id")
    .where("token_hash", "=", token_hash)
    .where("uses_left", ">", 0)
    .where("expires_at", ">", now),
);

/** A page of an owner's registration tokens that can be used, newest first. */
export function listRegistrationTokens(
  { sql: db }: Queries,
  {
    owner,
    now,
    before,
    limit,
  }: {
    readonly owner: string;
    readonly now: number;
    readonly before: Pick<Row<"registration_tokens">, "created_at" | "token_hash"> | undefined;
    readonly limit: number;
  },
): Promise<Row<"registration_tokens">[]> {
  let query = db
    .selectFrom(registrationTokensBy("registration_tokens_owner"))
    .selectAll()
    .where("owner_id", "=", owner)
    .where("uses_left", ">", 0)
    .where("expires_at", ">", now);
  if (before)
    query = query.where(
      sql<boolean>`(created_at, token_hash) < (${before.created_at}, ${before.token_hash})`,
    );
  return query.orderBy("created_at", "desc").orderBy("token_hash", "desc").limit(limit).execute();
}

/** Removes the registration token of an owner whose hash begins with `id`, if it can be used. */
export const deleteRegistrationToken = statement<
  { owner: string; id: string; now: number },
  { token_hash: string }
>((db, { owner, id, now }) =>
  db
    .deleteFrom("registration_tokens")
    .where("token_hash", ">=", id)
    .where("token_hash", "<", sql<string>`${id} || 'g'`)
    .where("owner_id", "=", owner)
    .where("uses_left", ">", 0)
    .where("expires_at", ">", now)
    .returning("token_hash"),
);

export async function insertRegistrationToken(
  tx: Queries,
  token: Row<"registration_tokens">,
): Promise<void> {
  await tx.sql.insertInto("registration_tokens").values(token).execute();
}

type CandidateRow = Pick<
  WorkerRow,
  | "id"
  | "owner_id"
  | "name"
  | "labels"
  | "features"
  | "offline_at"
  | "draining_at"
  | "last_heartbeat_at"
>;

export const findCandidates = statement<{ owner: string }, CandidateRow>((db, { owner }) =>
  candidates(db, owner),
);

/**
 * One of them that could take a job without a worker of its own now: in the usual case, all others
 * need not be read. The labels and the features of the job are JSON lists.
 */
export const findReadyWorker = statement<
  { owner: string; labels: string; features: string },
  CandidateRow
>((db, { owner, labels, features }) =>
  candidates(db, owner)
    .where("offline_at", "is", null)
    .where("draining_at", "is", null)
    .where("last_heartbeat_at", "is not", null)
    .where(hasAll(sql.ref("workers.labels"), labels))
    .where(hasAll(sql.ref("workers.features"), features))
    .limit(1),
);

const candidates = (db: Kysely<Tables>, owner: string) =>
  db
    .selectFrom("workers")
    .select([
      "id",
      "owner_id",
      "name",
      "labels",
      "features",
      "offline_at",
      "draining_at",
      "last_heartbeat_at",
    ])
    .where((where) => where.or([where("owner_id", "=", owner), where("owner_id", "is", null)]));

/** Whether one JSON list has every entry of another. */
const hasAll = (list: RawBuilder<unknown>, entries: string) => sql<boolean>`not exists (
  select 1 from json_each(${entries}) as wanted where wanted.value not in (select value from json_each(${list})))`;
