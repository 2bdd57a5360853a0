import type { Queries } from "./db.ts";

export async function setFact(tx: Queries, name: string, value: string): Promise<void> {
  await tx.sql
    .insertInto("facts")
    .values({ name, value })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
    .execute();
}

/** Does not change a fact that has this name already. */
export async function addFact(tx: Queries, name: string, value: string): Promise<void> {
  await tx.sql
    .insertInto("facts")
    .values({ name, value })
    .onConflict((conflict) => conflict.column("name").doNothing())
    .execute();
}

/** Those with names between two, in their order. */
export const findFacts = (
  { sql: db }: Queries,
  from: string,
  to: string,
): Promise<{ name: string; value: string }[]> =>
  db
    .selectFrom("facts")
    .select(["name", "value"])
    .where("name", ">", from)
    .where("name", "<", to)
    .orderBy("name")
    .execute();

export async function findFact({ sql: db }: Queries, name: string): Promise<string | undefined> {
  const row = await db
    .selectFrom("facts")
    .select("value")
    .where("name", "=", name)
    .executeTakeFirst();
  return row?.value;
}

/** A removed fact has no value. */
export async function removeFact({ sql: db }: Queries, name: string): Promise<void> {
  await db.deleteFrom("facts").where("name", "=", name).execute();
}

/** The time of the backup; until the first start has settled the restore. */
export const restorePending = "restore_pending";
/** When the last restore was settled, in epoch milliseconds. */
export const restoredAt = "restored_at";

/** The key of `config_hash`, sealed. */
export const configHashKey = "config_hash_key";
/** Set when the environments that 0.1.0 stored in clear are sealed. */
export const environmentsSealed = "environments_sealed";
/** Absent if none is left to count after an upgrade. */
export const statesToRecount = "states_to_recount";
/** A check value of the secret that signs tokens, where control planes share the store. */
export const jwtSecretCheck = "jwt_secret_check";
/** The id of the directory of artifacts, where control planes share the store. */
export const artifactsDirectoryId = "artifacts_directory";
/** A JSON array of one check value for each key that may have sealed something (secret-keys.ts). */
export const secretKeyChecks = "secret_key_checks";

/** Until when a backup reads blobs: none may be deleted that its copy may name. */
export const backupsFrom = "backup:";
export const backupsTo = "backup;";

/** The space from which jobs of a moved zone still follow it, by the id of the zone. */
export const zoneMovesFrom = "zone_move:";
export const zoneMovesTo = "zone_move;";

/** The keys of the issuer, by their number (services/issuer/keys.ts). */
export const issuerKeysFrom = "issuer_key:";
export const issuerKeysTo = "issuer_key;";
/** The space whose tokens had a slug, by the slug. */
export const issuedSlug = (slug: string): string => `issued_slug:${slug}`;

/** Until when a process refreshes a provider's token. */
export const refreshesFrom = "refresh:";

/** Until when a provider's logout token is remembered, by its hash. */
export const logoutTokensFrom = "logout-token:";
export const logoutTokensTo = "logout-token;";

/** The prefix of facts of an incomplete move of all data to this store. */
export const movesFrom = "move:";
/** The source of an incomplete move. No server starts while the fact exists. */
export const moveMark = `${movesFrom}from`;

export async function isBackupRunning({ sql: db }: Queries, now: number): Promise<boolean> {
  const running = await db
    .selectFrom("facts")
    .select("value")
    .where("name", ">", backupsFrom)
    .where("name", "<", backupsTo)
    .execute();
  return running.some(({ value }) => Number(value) > now);
}
