import type { Queries } from "../db.ts";
import { zonesBy } from "../indexed.ts";
import { isSeen } from "../spaces.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

export type ZoneRow = Row<"zones">;

export async function insertZone(tx: Queries, zone: ZoneRow): Promise<void> {
  await tx.sql.insertInto("zones").values(zone).execute();
}

export const findZone = statement<{ id: string; owner: string }, ZoneRow>((db, { id, owner }) =>
  db.selectFrom("zones").selectAll().where("id", "=", id).where("owner_id", "=", owner),
);

export const findZoneByName = statement<{ name: string; owner: string }, ZoneRow>(
  (db, { name, owner }) =>
    db.selectFrom("zones").selectAll().where("name", "=", name).where("owner_id", "=", owner),
);

export function listZones(
  { sql: db }: Queries,
  owner: string,
  before: string | undefined,
  limit: number,
): Promise<ZoneRow[]> {
  let query = db
    .selectFrom(zonesBy("zones_owner"))
    .selectAll()
    .where("owner_id", "=", owner)
    .where(isSeen(owner, "id"));
  if (before !== undefined) query = query.where("id", "<", before);
  return query.orderBy("id", "desc").limit(limit).execute();
}

export async function saveZone(
  tx: Queries,
  { id, name, updated_at }: Pick<ZoneRow, "id" | "name" | "updated_at">,
): Promise<void> {
  await tx.sql.updateTable("zones").set({ name, updated_at }).where("id", "=", id).execute();
}

/** Deletes a zone that has no specs. */
export async function deleteZone(tx: Queries, id: string): Promise<void> {
  await tx.sql.deleteFrom("zones").where("id", "=", id).execute();
}
