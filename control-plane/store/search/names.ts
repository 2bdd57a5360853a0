/** Reads names by an index. No table read here has more rows because of a long history. */
import { sql } from "kysely";
import type { Queries } from "../db.ts";
import { cloudIdentitiesBy, specsBy, variableSetsBy, workersBy, zonesBy } from "../indexed.ts";
import { isSeen } from "../spaces.ts";
import { contains } from "./contains.ts";

export interface NamedRow {
  readonly id: string;
  readonly name: string;
}

/** A row that was read, and where it is in the index. */
interface SearchedRow extends NamedRow {
  readonly zone_id: string;
  readonly found: number | boolean;
}

export interface NamePage {
  readonly owner: string;
  /** In any case of letters. */
  readonly text: string;
  /** The last row of the page before. */
  readonly after: SearchedRow | undefined;
  readonly limit: number;
}

const byId = { key: sql`(id)`, zone: sql`''` };
const tables = {
  // It has the names, so no definition is opened.
  configurations: { table: specsBy("specs_summary"), key: sql`(zone_id, id)`, zone: sql`zone_id` },
  zones: { table: zonesBy("zones_owner"), ...byId },
  workers: { table: workersBy("workers_owner"), ...byId },
  identities: { table: cloudIdentitiesBy("cloud_identities_owner"), ...byId },
  "variable-sets": { table: variableSetsBy("variable_sets_owner"), ...byId },
} as const;
export type SearchedTable = keyof typeof tables;

/** The next rows of one kind, each with whether its name has this text. */
export async function readNames(
  { sql: db }: Queries,
  kind: SearchedTable,
  { owner, text, after, limit }: NamePage,
): Promise<SearchedRow[]> {
  const { table, key, zone } = tables[kind];
  const last =
    kind === "configurations" ? sql`(${after?.zone_id}, ${after?.id})` : sql`(${after?.id})`;
  const seen =
    kind === "configurations"
      ? isSeen(owner, "zone_id", "id")
      : kind === "zones"
        ? isSeen(owner, "id")
        : sql`1 = 1`;
  const { rows } = await sql<SearchedRow>`
    select id, name, ${zone} as zone_id, ${contains(sql`name`, text)} as found from ${table}
    where owner_id = ${owner} and ${seen} ${after ? sql`and ${key} > ${last}` : sql``}
    order by ${kind === "configurations" ? sql`zone_id, id` : sql`id`} limit ${limit}`.execute(db);
  return rows;
}
