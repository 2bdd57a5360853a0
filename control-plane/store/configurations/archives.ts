/** SQL of uploaded archives. Their content is in blobs. */
import type { Queries } from "../db.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

export type ArchiveRow = Row<"archives">;

export const findArchive = statement<{ owner: string; sha256: string }, ArchiveRow>(
  (db, { owner, sha256 }) =>
    db
      .selectFrom("archives")
      .selectAll()
      .where("owner_id", "=", owner)
      .where("sha256", "=", sha256),
);

/** Renews one that is there, unless its blob is `lost`. Returns whether the new blob is used. */
export async function addArchive(
  { sql: db }: Queries,
  row: ArchiveRow,
  lost = "",
): Promise<boolean> {
  const added = await db
    .insertInto("archives")
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(["owner_id", "sha256"]).doUpdateSet((set) => ({
        named_at: row.named_at,
        blob: set
          .case()
          .when("archives.blob", "=", lost)
          .then(row.blob)
          .else(set.ref("archives.blob"))
          .end(),
      })),
    )
    .returning("blob")
    .executeTakeFirstOrThrow();
  return added.blob === row.blob;
}
