/** SQL of the store's facts, such as the address it was last served at. */
import type { Queries } from "./db.ts";

/** Notes a fact, replacing what was noted before. */
export async function setFact(tx: Queries, name: string, value: string): Promise<void> {
  await tx.sql
    .insertInto("facts")
    .values({ name, value })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
    .execute();
}

/** A fact's value. */
export async function findFact({ sql: db }: Queries, name: string): Promise<string | undefined> {
  const row = await db
    .selectFrom("facts")
    .select("value")
    .where("name", "=", name)
    .executeTakeFirst();
  return row?.value;
}
