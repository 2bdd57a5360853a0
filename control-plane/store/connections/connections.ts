import type { Queries } from "../db.ts";
import { connectionsBy } from "../indexed.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

export type ConnectionRow = Row<"connections">;

export const findConnection = statement<{ id: string; owner: string }, ConnectionRow>(
  (db, { id, owner }) =>
    db.selectFrom("connections").selectAll().where("id", "=", id).where("owner_id", "=", owner),
);

/** For an event, whose sender names no space. */
export const findAnyConnection = statement<{ id: string }, ConnectionRow>((db, { id }) =>
  db.selectFrom("connections").selectAll().where("id", "=", id),
);

export const findConnectionByName = statement<{ name: string; owner: string }, { id: string }>(
  (db, { name, owner }) =>
    db
      .selectFrom(connectionsBy("connections_name"))
      .select("id")
      .where("owner_id", "=", owner)
      .where("name", "=", name),
);

export function listConnections(
  { sql: db }: Queries,
  owner: string,
  before: string | undefined,
  limit: number,
): Promise<ConnectionRow[]> {
  let query = db
    .selectFrom(connectionsBy("connections_owner"))
    .selectAll()
    .where("owner_id", "=", owner);
  if (before !== undefined) query = query.where("id", "<", before);
  return query.orderBy("id", "desc").limit(limit).execute();
}

/** Those that fail, the longest first. */
export const findBrokenConnections = statement<
  { owner: string; limit: number },
  Pick<ConnectionRow, "id" | "name" | "error" | "error_since" | "updated_at">
>((db, { owner, limit }) =>
  db
    .selectFrom(connectionsBy("connections_owner"))
    .select(["id", "name", "error", "error_since", "updated_at"])
    .where("owner_id", "=", owner)
    .where("error", "is not", null)
    .orderBy("error_since")
    .limit(limit),
);

export async function insertConnection(tx: Queries, row: ConnectionRow): Promise<void> {
  await tx.sql.insertInto("connections").values(row).execute();
}

export async function updateConnection(
  tx: Queries,
  id: string,
  change: Partial<ConnectionRow>,
): Promise<void> {
  await tx.sql.updateTable("connections").set(change).where("id", "=", id).execute();
}

export async function deleteConnection(tx: Queries, id: string): Promise<void> {
  await tx.sql.deleteFrom("connections").where("id", "=", id).execute();
}

/** Stores an event. Returns false if it has arrived before. */
export async function insertEvent(tx: Queries, event: Row<"connection_events">): Promise<boolean> {
  const { numInsertedOrUpdatedRows: added = 0n } = await tx.sql
    .insertInto("connection_events")
    .values(event)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return added > 0n;
}

/** Forgets events that arrived before then. */
export async function deleteEvents({ sql }: Queries, before: number): Promise<void> {
  await sql.deleteFrom("connection_events").where("received_at", "<", before).execute();
}
