/** Read by an index or from a total of triggers; counts no further than the limit. */
import { sql } from "kysely";
import type { Queries } from "../db.ts";
import { cloudIdentitiesBy, specsBy, variableSetsBy, workersBy, zonesBy } from "../indexed.ts";
import { statement } from "../statement.ts";

const owned = {
  configurations: specsBy("specs_owner"),
  zones: zonesBy("zones_owner"),
  workers: workersBy("workers_owner"),
  identities: cloudIdentitiesBy("cloud_identities_owner"),
  variableSets: variableSetsBy("variable_sets_owner"),
} as const;

/** How many things of a kind an owner has; counts no further than `limit`. */
export async function countOwned(
  { sql: db }: Queries,
  kind: keyof typeof owned,
  owner: string,
  limit: number,
): Promise<number> {
  const { rows } = await sql<{ count: number | string }>`select count(*) as count from (
    select 1 from ${owned[kind]} where owner_id = ${owner} limit ${limit}) as counted`.execute(db);
  return Number(rows[0]?.count);
}

/** The sizes of an owner's archives and states. Triggers maintain it. */
export const findUsage = statement<
  { owner: string },
  { archive_bytes: number; state_bytes: number }
>((db, { owner }) =>
  db
    .selectFrom("owner_usage")
    .select(["archive_bytes", "state_bytes"])
    .where("owner_id", "=", owner),
);

interface LogVolume {
  readonly bytes: number;
  readonly dropped_bytes: number;
  /** The sequence number of the last chunk that was dropped. */
  readonly dropped_seq: number;
}

/** How much of a job's log was received; undefined before its first chunk. */
export const findLogVolume = statement<{ job: string }, LogVolume>((db, { job }) =>
  db
    .selectFrom("log_volumes")
    .select(["bytes", "dropped_bytes", "dropped_seq"])
    .where("job_id", "=", job),
);

export const saveLogVolume = statement<{ job: string } & { [K in keyof LogVolume]: number }>(
  (db, { job, bytes, dropped_bytes, dropped_seq }) =>
    db
      .insertInto("log_volumes")
      .values({ job_id: job, bytes, dropped_bytes, dropped_seq })
      .onConflict((conflict) =>
        conflict.column("job_id").doUpdateSet({ bytes, dropped_bytes, dropped_seq }),
      ),
);
