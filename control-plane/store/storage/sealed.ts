/** SQL of what is encrypted at rest, for a change of the key. */
import { sql } from "kysely";
import type { Queries } from "../db.ts";
import { statement } from "../statement.ts";
import { blobTables } from "./blob-tables.ts";

export const sealedTables = [
  "specs",
  "variable_sets",
  "connections",
  "notification_rules",
  "job_snapshots",
  "definitions",
  "workers",
] as const;

export interface SealedDefinition {
  readonly table: (typeof sealedTables)[number];
  readonly id: string;
  /** The row that its values are sealed for. */
  readonly about: string;
  readonly text: string;
}

const marked = '%"sealed":%';
type After = { after: string; limit: number };
type SealedRow = Omit<SealedDefinition, "table">;

const specs = statement<After, SealedRow>((db, { after, limit }) =>
  db
    .selectFrom("specs")
    .select(["id", "id as about", sql<string>`definition`.as("text")])
    .where("id", ">", after)
    .where(sql`definition`, "like", sql.lit(marked))
    .orderBy("id")
    .limit(limit),
);

const sets = statement<After, SealedRow>((db, { after, limit }) =>
  db
    .selectFrom("variable_sets")
    .select(["id", "id as about", sql<string>`definition`.as("text")])
    .where("id", ">", after)
    .where(sql`definition`, "like", sql.lit(marked))
    .orderBy("id")
    .limit(limit),
);

const sealedSecrets = (table: "connections" | "notification_rules") =>
  statement<After, SealedRow>((db, { after, limit }) =>
    db
      .selectFrom(table)
      .select(["id", "id as about", "secrets as text"])
      .where("id", ">", after)
      .orderBy("id")
      .limit(limit),
  );

const snapshots = statement<After, SealedRow>((db, { after, limit }) =>
  db
    .selectFrom("job_snapshots")
    .select(["job_id as id", "job_id as about", sql<string>`config_snapshot`.as("text")])
    .where("job_id", ">", after)
    .where(sql`config_snapshot`, "like", sql.lit(marked))
    .orderBy("job_id")
    .limit(limit),
);

const large = statement<After, SealedRow>((db, { after, limit }) =>
  db
    .selectFrom("definitions")
    .select(["id", "about", "content as text"])
    .where("id", ">", after)
    .where("content", "like", sql.lit(marked))
    .orderBy("id")
    .limit(limit),
);

const workers = statement<After, SealedRow>((db, { after, limit }) =>
  db
    .selectFrom("workers")
    .select(["id", "id as about", "metadata as text"])
    .where("id", ">", after)
    // What a pipeline writes about a cloud-hosted worker is free, and never sealed.
    .where("owner_id", "is not", null)
    .where("metadata", "like", sql.lit(marked))
    .orderBy("id")
    .limit(limit),
);

export async function findSealedDefinitions(
  queries: Queries,
  table: SealedDefinition["table"],
  after: string,
  limit: number,
): Promise<SealedDefinition[]> {
  const statements = {
    specs,
    variable_sets: sets,
    connections: sealedSecrets("connections"),
    notification_rules: sealedSecrets("notification_rules"),
    job_snapshots: snapshots,
    definitions: large,
    workers,
  };
  const rows = await queries.all(statements[table], { after, limit });
  return rows.map((row) => ({ table, ...row }));
}

export async function saveSealedDefinition(
  { sql: db }: Queries,
  { table, id, text }: Omit<SealedDefinition, "about">,
): Promise<void> {
  if (table === "specs" || table === "variable_sets")
    await db.updateTable(table).set({ definition: text }).where("id", "=", id).execute();
  else if (table === "definitions")
    await db
      .updateTable("definitions")
      .set({ content: text, bytes: Buffer.byteLength(text) })
      .where("id", "=", id)
      .execute();
  else if (table === "connections" || table === "notification_rules")
    await db.updateTable(table).set({ secrets: text }).where("id", "=", id).execute();
  else if (table === "workers")
    await db.updateTable("workers").set({ metadata: text }).where("id", "=", id).execute();
  else
    await db
      .updateTable("job_snapshots")
      .set({ config_snapshot: text })
      .where("job_id", "=", id)
      .execute();
}

export async function findNamedBlobs({ sql: db }: Queries): Promise<string[]> {
  const names = new Set<string>();
  for (const table of blobTables)
    for (const { blob } of await db.selectFrom(table).select("blob").execute()) names.add(blob);
  return [...names];
}

/** Lets every row that names one blob name another one. */
export async function renameBlob({ sql: db }: Queries, from: string, to: string): Promise<void> {
  for (const table of blobTables)
    await db.updateTable(table).set({ blob: to }).where("blob", "=", from).execute();
}
