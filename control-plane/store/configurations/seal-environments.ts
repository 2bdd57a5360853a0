import { sql } from "kysely";
import type { Queries } from "../db.ts";
import { statement } from "../statement.ts";

interface Page {
  readonly [name: string]: string | number;
  readonly after: string;
  readonly limit: number;
}
/** JSON of a definition or snapshot. */
interface Text {
  readonly id: string;
  readonly text: string;
}

const withEnvironment = '%"environment":{"%';

/** Configurations that set something in the environment, by id. */
export const definitionsWithEnvironment = statement<Page, Text>((db, { after, limit }) =>
  db
    .selectFrom("specs")
    .select(["id", sql<string>`definition`.as("text")])
    .where("id", ">", after)
    .where(sql`definition`, "like", sql.lit(withEnvironment))
    .orderBy("id")
    .limit(limit),
);

/** Snapshots of jobs that do. */
export const snapshotsWithEnvironment = statement<Page, Text>((db, { after, limit }) =>
  db
    .selectFrom("job_snapshots")
    .select(["job_id as id", sql<string>`config_snapshot`.as("text")])
    .where("job_id", ">", after)
    .where(sql`config_snapshot`, "like", sql.lit(withEnvironment))
    .orderBy("job_id")
    .limit(limit),
);

export async function saveDefinition({ sql: db }: Queries, id: string, definition: string) {
  await db.updateTable("specs").set({ definition }).where("id", "=", id).execute();
}

/** Replaces a job's snapshot; its hash was one of the clear value. */
export async function saveSnapshot({ sql: db }: Queries, id: string, config_snapshot: string) {
  await db.updateTable("job_snapshots").set({ config_snapshot }).where("job_id", "=", id).execute();
  await db.updateTable("jobs").set({ config_hash: null }).where("id", "=", id).execute();
}
