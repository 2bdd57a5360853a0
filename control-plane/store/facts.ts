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

/** Until when a backup reads the blobs, unless it says so again. Then none may be deleted that its copy of the database may name. */
const backupUntil = "backup_until";

/** Whether a backup reads the blobs at this moment. */
export async function isBackupRunning(queries: Queries, now: number): Promise<boolean> {
  return Number((await findFact(queries, backupUntil)) ?? 0) > now;
}
