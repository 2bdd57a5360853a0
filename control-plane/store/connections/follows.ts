import { sql } from "kysely";
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

/**
 * Whether another connection, of any space, posts under that name to the repository at the host;
 * without `repository`, to one that this connection follows.
 */
export async function isStatusNameTaken(
  { sql: db }: Queries,
  connection: Pick<Row<"connections">, "id" | "base_url" | "status_name">,
  repository?: string,
): Promise<boolean> {
  const own = db
    .selectFrom("follows as own")
    .select("own.repository_id")
    .where("own.connection_id", "=", connection.id);
  const found = await db
    .selectFrom("connections")
    .innerJoin("follows", "follows.connection_id", "connections.id")
    .select("follows.spec_id")
    .where("connections.id", "!=", connection.id)
    .where("connections.base_url", "=", connection.base_url)
    .where("connections.status_name", "=", connection.status_name)
    .where("follows.repository_id", "in", repository === undefined ? own : [repository])
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}

/** Whether a configuration follows the repository through the connection. */
export const findFollowed = statement<
  { connection: string; repository: string },
  { spec_id: string }
>((db, { connection, repository }) =>
  db
    .selectFrom(followsBy("follows_connection"))
    .select("spec_id")
    .where("connection_id", "=", connection)
    .where("repository_id", "=", repository)
    .limit(1),
);

/** Makes repositories of a connection due, all of them without `repository`, and the connection too. */
export async function hintLook(
  { sql: db }: Queries,
  connection: string,
  at: number,
  repository?: string,
): Promise<void> {
  const hint = db
    .updateTable("follows")
    .set({ look_at: at })
    .where("connection_id", "=", connection)
    .where("look_at", ">", at);
  await (repository === undefined ? hint : hint.where("repository_id", "=", repository)).execute();
  await db
    .updateTable("connections")
    .set({ poll_at: at })
    .where("id", "=", connection)
    .where("poll_at", ">", at)
    .execute();
}

/** A deleted comment is posted anew. */
export const forgetComment = statement<{
  connection: string;
  repository: string;
  comment: string;
  now: number;
}>((db, { connection, repository, comment, now }) =>
  db
    .updateTable("pull_requests")
    .set({ comment_id: null, post_at: now })
    .where("connection_id", "=", connection)
    .where("repository_id", "=", repository)
    .where("state", "=", sql.lit("open" as const))
    .where("comment_id", "=", comment),
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
