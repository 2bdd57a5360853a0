/** Query plans of the hot statements on PostgreSQL. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { expect, it } from "vitest";
import { openPostgres } from "../../../../control-plane/store/engines/postgres.ts";
import type { Statement } from "../../../../control-plane/store/statement.ts";
import { postgresForFile } from "../../../helpers/store/postgres-for-file.ts";

const postgres = postgresForFile();

/** Tables that a long history makes long. */
const long = new Set([
  "jobs",
  "job_snapshots",
  "log_chunks",
  "plan_summaries",
  "plan_attributes",
  "audit_entries",
  "state_versions",
]);
/** Statements that read every row of such a table, with the reason why that is acceptable. */
const readingAll: Record<string, string> = {
  findAllUnreleased: "once, after a restore",
};

interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Index Cond"?: string;
  readonly Plans?: readonly PlanNode[];
}

it("every hot statement finds what it needs in long tables by an index", async () => {
  const url = await postgres.server.createMigrated();
  const store = await openPostgres({ url, connections: 3 });
  const folder = join(import.meta.dirname, "../../../../control-plane/store");
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  // An index whose condition is part of the statement has few rows.
  const partial = await client.query<{ name: string }>(
    "select indexrelid::regclass::text as name from pg_index where indpred is not null",
  );
  const few = new Set(partial.rows.map(({ name }) => name));
  // Without rows, reading a whole table once and keeping it looks cheap.
  await client.query(
    "set enable_seqscan = off; set enable_material = off; set plan_cache_mode = force_generic_plan",
  );
  const found: string[] = [];
  let count = 0;
  const look = (name: string, node: PlanNode): void => {
    const { "Index Name": index, "Relation Name": table } = node;
    const isUnbounded = index !== undefined && node["Index Cond"] === undefined && !few.has(index);
    if (table !== undefined && long.has(table))
      if (node["Node Type"] === "Seq Scan" || isUnbounded)
        found.push(`${name}: ${node["Node Type"]} of ${table} ${index ?? ""}`);
    for (const inner of node.Plans ?? []) look(name, inner);
  };
  for (const file of await readdir(folder, { recursive: true })) {
    if (!file.endsWith(".ts")) continue;
    const exported: Record<string, unknown> = await import(join(folder, file));
    for (const [name, value] of Object.entries(exported)) {
      if (typeof value !== "object" || value === null || !("build" in value)) continue;
      if (name in readingAll) continue;
      const text = (value as Statement<never, unknown>).build(store.read.sql).sql;
      const params = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, n]) => Number(n)));
      await client.query(`prepare hot as ${text}`);
      const given = params > 0 ? `(${Array.from({ length: params }, () => "null").join()})` : "";
      const { rows } = await client.query<{ "QUERY PLAN": { Plan: PlanNode }[] }>(
        `explain (format json) execute hot${given}`,
      );
      await client.query("deallocate hot");
      look(name, rows[0]!["QUERY PLAN"][0]!.Plan);
      count += 1;
    }
  }
  await client.end();
  await store.close();
  expect(count).toBeGreaterThan(80);
  expect(found).toEqual([]);
});
