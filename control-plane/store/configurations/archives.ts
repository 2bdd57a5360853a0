/** SQL of uploaded archives. Their content is in blobs. */
import type { Queries } from "../db.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

export type ArchiveRow = Row<"archives">;

/** One archive of an owner. */
export const findArchive = statement<{ owner: string; sha256: string }, ArchiveRow>(
  (db, { owner, sha256 }) =>
    db
      .selectFrom("archives")
      .selectAll()
      .where("owner_id", "=", owner)
      .where("sha256", "=", sha256),
);

/** Adds an archive, or begins its time anew if it is there; answers whether it is new for its owner. */
export async function addArchive({ sql: db }: Queries, row: ArchiveRow): Promise<boolean> {
  const added = await db
    .insertInto("archives")
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(["owner_id", "sha256"]).doUpdateSet({ named_at: row.named_at }),
    )
    .returning("blob")
    .executeTakeFirstOrThrow();
  return added.blob === row.blob;
}
