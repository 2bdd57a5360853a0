/**
 * Indexes by which PostgreSQL finds the oldest jobs whatever it knows of the queue. With a plan for
 * any owner it chose the index of all owners, and read 3,000 heads of others for a claim; without
 * statistics it read and sorted all heads of the owner.
 */
import { sql, type Kysely } from "kysely";

/** Nothing: on SQLite, statements name their index. */
export async function up(): Promise<void> {}

/**
 * Gives both indexes what a claim reads of a head, so that reading them in their order is the
 * cheapest, and the one of all owners a condition that only statements for all owners have.
 */
export async function upPostgres(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const kind = "only_worker, first_wanted, wanted, job_id";
const read = "include (spec_id, target_worker)";
const statements = [
  "drop index queue_heads_own",
  "drop index queue_heads_all",
  `create index queue_heads_own on queue_heads (owner_id, ${kind}) ${read} where is_free = 1`,
  `create index queue_heads_all on queue_heads (${kind}) ${read} where is_free + 0 = 1`,
];

/** Statements of the release before use them too. */
export const isAdditive = true;
