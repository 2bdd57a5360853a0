/** SQL that finds the space of a thing by its id. */
import { statement, type Statement } from "../statement.ts";

const tables = [
  "zones",
  "specs",
  "jobs",
  "workers",
  "variable_sets",
  "cloud_identities",
  "access_tokens",
] as const;

/** The tables whose rows belong to a space and are named by id in requests. */
export type OwnedTable = (typeof tables)[number];

const findOwner = (table: OwnedTable): Statement<{ id: string }, { owner_id: string | null }> =>
  statement((db, { id }) => db.selectFrom(table).select("owner_id").where("id", "=", id));

/** The space of a row; null of a cloud-hosted worker, which has none. */
export const findOwnerOf = Object.fromEntries(
  tables.map((table) => [table, findOwner(table)]),
) as Readonly<Record<OwnedTable, ReturnType<typeof findOwner>>>;
