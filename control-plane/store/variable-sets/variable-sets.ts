import { sql } from "kysely";
import type { Queries } from "../db.ts";
import { definitionBytes } from "../definitions/definitions.ts";
import { variableSetsBy } from "../indexed.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

export type VariableSetRow = Row<"variable_sets">;
export type AttachmentRow = Pick<Row<"variable_set_attachments">, "zone_id" | "spec_id">;

export async function insertVariableSet(tx: Queries, row: VariableSetRow): Promise<void> {
  await tx.sql.insertInto("variable_sets").values(row).execute();
}

/** Saves what a person may change of a set, as its next version. */
export async function saveVariableSet(
  tx: Queries,
  { id, name, definition, definition_id, updated_at }: VariableSetRow,
): Promise<void> {
  await tx.sql
    .updateTable("variable_sets")
    .set((set) => ({
      name,
      definition,
      definition_id,
      updated_at,
      version: set("version", "+", 1),
    }))
    .where("id", "=", id)
    .execute();
}

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

export type VariableSetName = Pick<VariableSetRow, "id" | "name">;

export function listVariableSetNames(
  { sql: db }: Queries,
  owner: string,
  before: string | undefined,
  limit: number,
): Promise<VariableSetName[]> {
  let query = db
    .selectFrom(variableSetsBy("variable_sets_owner"))
    .select(["id", "name"])
    .where("owner_id", "=", owner);
  if (before !== undefined) query = query.where("id", "<", before);
  return query.orderBy("id", "desc").limit(limit).execute();
}

export const findAttachments = statement<{ set: string }, AttachmentRow>((db, { set }) =>
  db
    .selectFrom("variable_set_attachments")
    .select(["zone_id", "spec_id"])
    .where("set_id", "=", set)
    .orderBy("zone_id", (order) => order.asc().nullsFirst())
    .orderBy("spec_id", (order) => order.asc().nullsFirst()),
);

/** The number of zones and specs that each of these sets is attached to; none: left out. */
export function countAttachments(
  { sql: db }: Queries,
  sets: readonly string[],
): Promise<{ set_id: string; zones: number; specs: number }[]> {
  if (sets.length === 0) return Promise.resolve([]);
  return db
    .selectFrom("variable_set_attachments")
    .select("set_id")
    .select((eb) => [
      eb.fn.count<number>("zone_id").as("zones"),
      eb.fn.count<number>("spec_id").as("specs"),
    ])
    .where("set_id", "in", sets)
    .groupBy("set_id")
    .execute();
}

type Level = "configuration" | "zone";

/** What a set is attached to, with names: zones first, each in the order of names. */
export const findAttachmentNames = statement<
  { set: string },
  { level: Level; id: string; name: string }
>((db, { set }) =>
  // Not joins: with few zones, SQLite would read all of them.
  db
    .selectFrom("variable_set_attachments as a")
    .select((eb) => [
      sql<Level>`'zone'`.as("level"),
      eb.ref("zone_id").$notNull().as("id"),
      sql<string>`(select name from zones where id = a.zone_id)`.as("name"),
    ])
    .where("set_id", "=", set)
    .where("zone_id", "is not", null)
    .unionAll(
      db
        .selectFrom("variable_set_attachments as a")
        .select((eb) => [
          sql<Level>`'configuration'`.as("level"),
          eb.ref("spec_id").$notNull().as("id"),
          sql<string>`(select name from specs where id = a.spec_id)`.as("name"),
        ])
        .where("set_id", "=", set)
        .where("spec_id", "is not", null),
    )
    .orderBy("level", "desc")
    .orderBy("name"),
);

/** Attaches a set to a zone or a spec, the other is null; does nothing if it is. */
export async function attach(tx: Queries, set_id: string, target: AttachmentRow): Promise<void> {
  await tx.sql
    .insertInto("variable_set_attachments")
    .values({ set_id, ...target })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

export async function detach(
  tx: Queries,
  set_id: string,
  { zone_id, spec_id }: AttachmentRow,
): Promise<void> {
  await tx.sql
    .deleteFrom("variable_set_attachments")
    .where("set_id", "=", set_id)
    .where("zone_id", "is not distinct from", zone_id)
    .where("spec_id", "is not distinct from", spec_id)
    .execute();
}

/** Zones, or specs, by the column that names them. */
export interface Targets {
  readonly column: "zone_id" | "spec_id";
  readonly ids: readonly string[];
}

const among = ({ ids }: Targets) => sql`(select value from json_each(${JSON.stringify(ids)}))`;

export async function countOwned(
  { sql: db }: Queries,
  owner: string,
  targets: Targets,
): Promise<number> {
  const table = sql.table(targets.column === "zone_id" ? "zones" : "specs");
  const { rows } = await sql<{ count: number }>`select count(*) as count from ${table}
    where owner_id = ${owner} and id in ${among(targets)}`.execute(db);
  return rows[0]?.count ?? 0;
}

export async function attachToAll(
  { sql: db }: Queries,
  set: string,
  targets: Targets,
): Promise<void> {
  const column = sql.ref(targets.column);
  await sql`delete from variable_set_attachments
    where set_id = ${set} and ${column} is not null and ${column} not in ${among(targets)}`.execute(
    db,
  );
  await sql`insert into variable_set_attachments (set_id, ${column})
    select ${set}, value from json_each(${JSON.stringify(targets.ids)}) where true
    on conflict do nothing`.execute(db);
}

/** The largest number of sets, and length of their definitions, of one of these besides this set. */
export async function findFullest(
  { sql: db }: Queries,
  set: string,
  targets: Targets,
): Promise<{ count: number; bytes: number }> {
  const column = sql.ref(`a.${targets.column}`);
  const { rows } = await sql<{ count: number; bytes: number }>`
    select coalesce(max(count), 0) as count, coalesce(max(bytes), 0) as bytes from (
      select count(*) as count, sum(${definitionBytes("s")}) as bytes
        from variable_set_attachments as a cross join variable_sets as s
        where ${column} in ${among(targets)} and s.id = a.set_id and s.id <> ${set}
        group by ${column}) as found`.execute(db);
  return rows[0]!;
}

/** How many sets are attached to a zone or a spec, and how long their definitions are together. */
export async function measureSetsOf(
  { sql: db }: Queries,
  { zone_id, spec_id }: AttachmentRow,
): Promise<{ count: number; bytes: number }> {
  const { count, bytes } = await db
    .selectFrom("variable_set_attachments as a")
    .innerJoin("variable_sets as s", "s.id", "a.set_id")
    .select((eb) => [
      eb.fn.countAll<number>().as("count"),
      eb.fn.coalesce(eb.fn.sum(definitionBytes("s")), eb.lit(0)).as("bytes"),
    ])
    .where(zone_id === null ? "a.spec_id" : "a.zone_id", "=", zone_id ?? spec_id)
    .executeTakeFirstOrThrow();
  return { count, bytes: Number(bytes) };
}

/** The longest total of the sets of a zone or a spec to which this set is attached. */
export const findLargestTotal = statement<{ set: string }, { bytes: number }>((db, { set }) => {
  const totals = (level: "zone_id" | "spec_id") =>
    sql`select sum(${definitionBytes("s")}) as bytes
      from variable_set_attachments as mine
        cross join variable_set_attachments as a
        cross join variable_sets as s
      where mine.set_id = ${set} and a.${sql.ref(level)} = mine.${sql.ref(level)} and s.id = a.set_id
      group by a.${sql.ref(level)}`;
  const query = sql`select bytes from (${totals("zone_id")} union all ${totals("spec_id")}) as searched
    order by bytes desc limit 1`;
  return { compile: () => query.compile(db) };
});

const attached = (level: Level) =>
  [
    "s.id as id",
    "s.name as name",
    sql<Level>`${sql.lit(level)}`.as("attached_to"),
    "s.version as version",
    definitionBytes("s").as("bytes"),
  ] as const;

type Of = { spec: string; zone: string };

/** A set of a spec or of its zone. */
export interface AttachedRow extends VariableSetName {
  readonly attached_to: Level;
  readonly version: number;
  readonly bytes: number;
}

/** The sets of a spec and of its zone: those of the spec first, each in the order of names. */
export const findSetsOf = statement<Of, AttachedRow>((db, { spec, zone }) =>
  db
    .selectFrom("variable_set_attachments as a")
    .innerJoin("variable_sets as s", "s.id", "a.set_id")
    .select(attached("configuration"))
    .where("a.spec_id", "=", spec)
    .unionAll(
      db
        .selectFrom("variable_set_attachments as a")
        .innerJoin("variable_sets as s", "s.id", "a.set_id")
        .select(attached("zone"))
        .where("a.zone_id", "=", zone),
    )
    .orderBy("attached_to")
    .orderBy("name"),
);

export const findSetsOfZone = statement<{ zone: string }, AttachedRow>((db, { zone }) =>
  db
    .selectFrom("variable_set_attachments as a")
    .innerJoin("variable_sets as s", "s.id", "a.set_id")
    .select(attached("zone"))
    .where("a.zone_id", "=", zone)
    .orderBy("name"),
);

export const measureSet = statement<{ id: string }, { bytes: number }>((db, { id }) =>
  db.selectFrom("variable_sets as s").select(definitionBytes("s").as("bytes")).where("id", "=", id),
);

export const findSetDefinition = statement<
  { id: string },
  Pick<VariableSetRow, "definition" | "version">
>((db, { id }) =>
  db.selectFrom("variable_sets").select(["definition", "version"]).where("id", "=", id),
);
