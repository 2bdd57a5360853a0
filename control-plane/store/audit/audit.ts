/** SQL of the audit log. Entries are added and read; triggers refuse to change or remove one. */
import { sql } from "kysely";
import type { AuditAction } from "../../../protocol/audit.ts";
import type { Queries } from "../db.ts";
import { auditEntriesBy } from "../indexed.ts";
import { nameOfJob } from "../jobs/lists.ts";
import { contains } from "../search/contains.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

export type AuditRow = Row<"audit_entries">;

/** Adds an entry. Hot, because every job has some: its end is reported in the same transaction. */
export const insertAuditEntry = statement<{ [K in keyof AuditRow]: AuditRow[K] }>((db, row) =>
  db.insertInto("audit_entries").values({
    id: row.id,
    owner_id: row.owner_id,
    action: row.action,
    actor_kind: row.actor_kind,
    actor_id: row.actor_id,
    actor_name: row.actor_name,
    target_id: row.target_id,
    target_name: row.target_name,
    details: row.details,
    ip_address: row.ip_address,
    user_agent: row.user_agent,
    request_id: row.request_id,
    created_at: row.created_at,
  }),
);

export interface AuditFilter {
  readonly owner: string;
  readonly action?: AuditAction | undefined;
  readonly target?: string | undefined;
  /** A part of the name of who did it. */
  readonly actor?: string | undefined;
  /** From `since` on, before `until`. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Only entries older than this one. */
  readonly before?: AuditPosition | undefined;
  /** Only this entry and newer ones. */
  readonly from?: AuditPosition | undefined;
  readonly limit: number;
}

/** Where an entry stands in its list. */
export type AuditPosition = Pick<AuditRow, "id" | "created_at">;

export const findAuditPosition = statement<{ id: string; owner: string }, AuditPosition>(
  (db, { id, owner }) =>
    db
      .selectFrom("audit_entries")
      .select(["id", "created_at"])
      .where("id", "=", id)
      .where("owner_id", "=", owner),
);

/** How many entries are searched for one page of an actor's, which no index covers. */
const searchedEntries = 2000;

/** The last entry that is searched; undefined if all are. */
export const findEndOfSearch = (
  queries: Queries,
  filter: AuditFilter,
): Promise<AuditPosition | undefined> =>
  entriesOf(queries, filter)
    .select(["id", "created_at"])
    .limit(1)
    .offset(searchedEntries - 1)
    .executeTakeFirst();

export function listAuditEntries(queries: Queries, filter: AuditFilter): Promise<AuditRow[]> {
  const { actor, limit } = filter;
  let query = entriesOf(queries, filter).selectAll().limit(limit);
  if (actor !== undefined) query = query.where(contains(sql`actor_name`, actor));
  return query.execute();
}

/** The range of an index in which the entries are, newest first. */
function entriesOf(
  { sql: db }: Queries,
  { owner, action, target, since, until, before, from }: AuditFilter,
) {
  const index =
    target !== undefined
      ? "audit_entries_target"
      : action !== undefined
        ? "audit_entries_action"
        : "audit_entries_owner";
  let query = db.selectFrom(auditEntriesBy(index)).where("owner_id", "=", owner);
  if (action !== undefined) query = query.where("action", "=", action);
  if (target !== undefined) query = query.where("target_id", "=", target);
  if (since !== undefined) query = query.where("created_at", ">=", since);
  if (until !== undefined) query = query.where("created_at", "<", until);
  if (before !== undefined)
    query = query.where(sql<boolean>`(created_at, id) < (${before.created_at}, ${before.id})`);
  if (from !== undefined)
    query = query.where(sql<boolean>`(created_at, id) >= (${from.created_at}, ${from.id})`);
  return query.orderBy("created_at", "desc").orderBy("id", "desc");
}

/** Those of these ids of a table that an owner has, without deleted configurations. */
export async function listLive(
  { sql: db }: Queries,
  table: "specs" | "zones" | "workers" | "variable_sets" | "cloud_identities",
  owner: string,
  ids: readonly string[],
): Promise<string[]> {
  if (ids.length === 0) return [];
  const own = db
    .selectFrom(table)
    .select("id")
    .where("id", "in", ids)
    .where("owner_id", "=", owner);
  const rows = await (
    table === "specs" ? own.where("specs.deleted_owner_id", "is", null) : own
  ).execute();
  return rows.map(({ id }) => id);
}

/** The configurations of these jobs of an owner, with the names that they had then. */
export function listConfigurationsOfJobs(
  { sql: db }: Queries,
  owner: string,
  jobs: readonly string[],
): Promise<{ job_id: string; id: string | null; name: string | null }[]> {
  if (jobs.length === 0) return Promise.resolve([]);
  return db
    .selectFrom("jobs")
    .select(["jobs.id as job_id", "jobs.spec_id as id", nameOfJob.as("name")])
    .where("jobs.id", "in", jobs)
    .where("jobs.owner_id", "=", owner)
    .execute();
}
