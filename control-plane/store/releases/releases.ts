import type { Queries } from "../db.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

export type ReleaseRow = Row<"releases">;

export const findRelease = statement<{ version: string }, ReleaseRow>((db, { version }) =>
  db.selectFrom("releases").selectAll().where("version", "=", version),
);

export async function insertRelease({ sql: db }: Queries, release: ReleaseRow): Promise<void> {
  await db.insertInto("releases").values(release).execute();
}

/** The highest published version, noted as a fact so that a heartbeat only looks it up. */
export const findLatestVersion = statement<Record<string, never>, { value: string }>((db) =>
  db.selectFrom("facts").select("value").where("name", "=", latestVersionFact),
);

export const latestVersionFact = "latest_version";
