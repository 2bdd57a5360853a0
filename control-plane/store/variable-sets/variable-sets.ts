/** SQL of variable sets and of what they are attached to. */
import { sql } from "kysely";
import type { Queries } from "../db.ts";
import { variableSetsBy } from "../indexed.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

export type VariableSetRow = Row<"variable_sets">;
export type AttachmentRow = Pick<Row<"variable_set_attachments">, "zone_id" | "spec_id">;

/** Adds a set. */
export async function insertVariableSet(tx: Queries, row: VariableSetRow): Promise<void> {
  await tx.sql.insertInto("variable_sets").values(row).execute();
}

/** Saves what a person may change of a set. */
export async function saveVariableSet(
  tx: Queries,
  { id, name, definition, updated_at }: VariableSetRow,
): Promise<void> {
  await tx.sql
    .updateTable("variable_sets")
    .set({ name, definition, updated_at })
    .where("id", "=", id)
    .execute();
}

/** Deletes a set with its attachments. */
export async function deleteVariableSet(tx: Queries, id: string): Promise<void> {
  await tx.sql.deleteFrom("variable_sets").where("id", "=", id).execute();
}

export const findVariableSet = statement<{ id: string; owner: string }, VariableSetRow>(
  (db, { id, owner }) =>
    db.selectFrom("variable_sets").selectAll().where("id", "=", id).where("owner_id", "=", owner),
);

export const findVariableSetByName = statement<{ name: string; owner: string }, { id: string }>(
  (db, { name, owner }) =>
    db
      .selectFrom("variable_sets")
      .select("id")
      .where("name", "=", name)
      .where("owner_id", "=", owner),
);

/** The ids of a page of an owner's sets, newest first. */
export async function listVariableSetIds(
  { sql: db }: Queries,
  owner: string,
  before: string | undefined,
  limit: number,
): Promise<string[]> {
  let query = db
    .selectFrom(variableSetsBy("variable_sets_owner"))
    .select("id")
    .where("owner_id", "=", owner);
  if (before !== undefined) query = query.where("id", "<", before);
  const rows = await query.orderBy("id", "desc").limit(limit).execute();
  return rows.map(({ id }) => id);
}

/** What a set is attached to. */
export const findAttachments = statement<{ set: string }, AttachmentRow>((db, { set }) =>
  db
    .selectFrom("variable_set_attachments")
    .select(["zone_id", "spec_id"])
    .where("set_id", "=", set)
    .orderBy("zone_id")
    .orderBy("spec_id"),
);

/** Attaches a set to a zone or a spec, the other is null; does nothing if it is. */
export async function attach(tx: Queries, set_id: string, target: AttachmentRow): Promise<void> {
  await tx.sql
    .insertInto("variable_set_attachments")
    .values({ set_id, ...target })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Detaches a set from a zone or a spec. */
export async function detach(
  tx: Queries,
  set_id: string,
  { zone_id, spec_id }: AttachmentRow,
): Promise<void> {
  await tx.sql
    .deleteFrom("variable_set_attachments")
    .where("set_id", "=", set_id)
    .where("zone_id", "is", zone_id)
    .where("spec_id", "is", spec_id)
    .execute();
}

/** How many sets are attached to a zone or a spec. */
export async function countSetsOf(
  { sql: db }: Queries,
  { zone_id, spec_id }: AttachmentRow,
): Promise<number> {
  const { count } = await db
    .selectFrom("variable_set_attachments")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where(zone_id === null ? "spec_id" : "zone_id", "=", zone_id ?? spec_id)
    .executeTakeFirstOrThrow();
  return count;
}

type Level = "configuration" | "zone";
type Of = { spec: string; zone: string };

/** The sets of a spec and of its zone: those of the spec first, each in the order of names. */
export const findSetNamesOf = statement<Of, { id: string; name: string; attached_to: Level }>(
  (db, { spec, zone }) =>
    db
      .selectFrom("variable_set_attachments as a")
      .innerJoin("variable_sets as s", "s.id", "a.set_id")
      .select(["s.id as id", "s.name as name", sql<Level>`'configuration'`.as("attached_to")])
      .where("a.spec_id", "=", spec)
      .unionAll(
        db
          .selectFrom("variable_set_attachments as a")
          .innerJoin("variable_sets as s", "s.id", "a.set_id")
          .select(["s.id as id", "s.name as name", sql<Level>`'zone'`.as("attached_to")])
          .where("a.zone_id", "=", zone),
      )
      .orderBy("attached_to")
      .orderBy("name"),
);

/** The values of a set. */
export const findSetDefinition = statement<{ id: string }, { definition: string }>((db, { id }) =>
  db.selectFrom("variable_sets").select("definition").where("id", "=", id),
);
