/** SQL of large definitions, which other rows name. */
import { sql, type RawBuilder } from "kysely";
import type { Queries } from "../db.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

/** Adds a definition that no row names yet, to be removed at this time if none ever does. */
export async function insertDefinition(
  { sql: db }: Queries,
  row: Row<"definitions">,
  remove_at: number,
): Promise<void> {
  await db.insertInto("definitions").values(row).execute();
  await db.insertInto("loose_definitions").values({ id: row.id, remove_at }).execute();
}

export const findDefinition = statement<{ id: string }, { content: string }>((db, { id }) =>
  db.selectFrom("definitions").select("content").where("id", "=", id),
);

/** Definitions that no row names and that are due for removal. */
export const findLooseDefinitions = statement<{ now: number; limit: number }, { id: string }>(
  (db, { now, limit }) =>
    db
      .selectFrom("loose_definitions")
      .select("id")
      .where("remove_at", "<=", now)
      .orderBy("remove_at")
      .limit(limit),
);

/** Removes a definition unless a row names it. */
export async function removeLooseDefinition({ sql: db }: Queries, id: string): Promise<void> {
  const loose = await db
    .deleteFrom("loose_definitions")
    .where("id", "=", id)
    .returning("id")
    .executeTakeFirst();
  if (loose) await db.deleteFrom("definitions").where("id", "=", id).execute();
}

/** The length of the definition of a row of `alias`, wherever it is. */
export const definitionBytes = (alias: string): RawBuilder<number> =>
  sql<number>`coalesce(
    (select bytes from definitions where definitions.id = ${sql.ref(`${alias}.definition_id`)}),
    octet_length(${sql.ref(`${alias}.definition`)}))`;
