import type { Queries } from "../db.ts";
import { followsBy } from "../indexed.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

export type FollowRow = Row<"follows">;

/** With the time of the last event that its connection has received. */
export const findFollow = statement<
  { spec: string },
  FollowRow & { readonly last_event_at: number | null }
>((db, { spec }) =>
  db
    .selectFrom("follows")
    .innerJoin("connections", "connections.id", "follows.connection_id")
    .selectAll("follows")
    .select("connections.last_event_at")
    .where("follows.spec_id", "=", spec),
);

export type Follower = Pick<FollowRow, "repository" | "branch"> & Record<"id" | "name", string>;

/** The configurations that follow through a connection. */
export const listFollowers = statement<{ connection: string; limit: number }, Follower>(
  (db, { connection, limit }) =>
    db
      .selectFrom(followsBy("follows_connection"))
      .innerJoin("specs", "specs.id", "follows.spec_id")
      .select(["specs.id", "specs.name", "follows.repository", "follows.branch"])
      .where("follows.connection_id", "=", connection)
      .orderBy("specs.name")
      .limit(limit),
);

export async function saveFollow(tx: Queries, row: FollowRow): Promise<void> {
  const { spec_id: _, ...fields } = row;
  await tx.sql
    .insertInto("follows")
    .values(row)
    .onConflict((conflict) => conflict.column("spec_id").doUpdateSet(fields))
    .execute();
}

export const deleteFollow = statement<{ spec: string }>((db, { spec }) =>
  db.deleteFrom("follows").where("spec_id", "=", spec),
);
