/** The content of a version is in a blob. */
import type { Queries } from "../db.ts";
import { stateVersionsBy } from "../indexed.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

export type StateVersionRow = Row<"state_versions">;
export type NewStateVersion = Omit<StateVersionRow, "id" | "resources">;
export type StateLockRow = Row<"state_locks">;

/** The newest version of a spec's state: the one with the highest serial. */
export const findState = statement<{ spec: string }, StateVersionRow>((db, { spec }) =>
  db
    .selectFrom(stateVersionsBy("state_versions_spec"))
    .selectAll()
    .where("spec_id", "=", spec)
    .orderBy("id", "desc")
    .limit(1),
);

export const setResourceCount = statement<{ id: number; count: number }>((db, { id, count }) =>
  db
    .updateTable("state_versions")
    .set({ resource_count: count, resources: count })
    .where("id", "=", id),
);

export async function addState({ sql: db }: Queries, row: NewStateVersion): Promise<void> {
  const resources = row.resource_count ?? 0;
  await db
    .insertInto("state_versions")
    .values({ ...row, resources })
    .execute();
}

export const findLock = statement<{ spec: string }, StateLockRow>((db, { spec }) =>
  db.selectFrom("state_locks").selectAll().where("spec_id", "=", spec),
);

/** The states of an owner that jobs have left locked. Reads the locks, of which there are few. */
export const findLeftLocks = statement<
  { owner: string; limit: number },
  { id: string; name: string; job_id: string; created_at: number }
>((db, { owner, limit }) =>
  db
    .selectFrom("state_locks")
    .innerJoin("jobs", "jobs.id", "state_locks.job_id")
    .innerJoin("specs", "specs.id", "state_locks.spec_id")
    .select(["specs.id", "specs.name", "state_locks.job_id", "state_locks.created_at"])
    .where("specs.owner_id", "=", owner)
    .where("jobs.released_at", "is not", null)
    .limit(limit),
);

export async function addLock({ sql: db }: Queries, row: StateLockRow): Promise<void> {
  await db.insertInto("state_locks").values(row).execute();
}

const deleteLockOf = statement<{ job: string }, { spec_id: string }>((db, { job }) =>
  db.deleteFrom("state_locks").where("job_id", "=", job).returning("spec_id"),
);

/** Ends the lock that a job holds. Returns whether it held one. */
export const releaseLock = async (tx: Queries, job: string): Promise<boolean> =>
  (await tx.first(deleteLockOf, { job })) !== undefined;

export const findStateVersion = statement<{ spec: string; serial: number }, StateVersionRow>(
  (db, { spec, serial }) =>
    db
      .selectFrom(stateVersionsBy("state_versions_serial"))
      .selectAll()
      .where("spec_id", "=", spec)
      .where("serial", "=", serial)
      .orderBy("id", "desc")
      .limit(1),
);

export function listStateVersions(
  { sql: db }: Queries,
  spec: string,
  before: number | undefined,
  limit: number,
): Promise<StateVersionRow[]> {
  let query = db
    .selectFrom(stateVersionsBy("state_versions_serial"))
    .selectAll()
    .where("spec_id", "=", spec);
  if (before !== undefined) query = query.where("serial", "<", before);
  return query.orderBy("serial", "desc").limit(limit).execute();
}
