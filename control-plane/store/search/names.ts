/** Reads names by an index. No table read here has more rows because of a long history. */
import { sql } from "kysely";
import type { Queries } from "../db.ts";
import { cloudIdentitiesBy, specsBy, variableSetsBy, workersBy, zonesBy } from "../indexed.ts";
import { statement } from "../statement.ts";
import { contains } from "./contains.ts";

export interface NamedRow {
  readonly id: string;
  readonly name: string;
}

export interface NameSearch {
  readonly owner: string;
  /** In any case of letters. */
  readonly text: string;
  readonly limit: number;
}

const tables = {
  // It has the names, so no definition is opened.
  configurations: specsBy("specs_summary"),
  zones: zonesBy("zones_owner"),
  workers: workersBy("workers_owner"),
  identities: cloudIdentitiesBy("cloud_identities_owner"),
  "variable-sets": variableSetsBy("variable_sets_name"),
} as const;
export type SearchedTable = keyof typeof tables;

/** The things of one kind whose name has this text. */
export async function searchNames(
  { sql: db }: Queries,
  kind: SearchedTable,
  { owner, text, limit }: NameSearch,
): Promise<NamedRow[]> {
  const { rows } = await sql<NamedRow>`select id, name from ${tables[kind]}
    where owner_id = ${owner} and ${contains(sql`name`, text)} limit ${limit}`.execute(db);
  return rows;
}

export const findSpecName = statement<{ id: string; owner: string }, NamedRow>(
  (db, { id, owner }) =>
    db
      .selectFrom("specs")
      .select(["id", "name"])
      .where("id", "=", id)
      .where("owner_id", "=", owner),
);
