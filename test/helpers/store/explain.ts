/** How many rows the parts of a query's plan read on PostgreSQL. */
import pg from "pg";
import { PostgresQueries } from "../../../control-plane/store/engines/postgres-connection.ts";
import { bind, type Statement } from "../../../control-plane/store/statement.ts";

interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Actual Rows"?: number;
  readonly "Actual Loops"?: number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly PlanNode[];
}

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

/** How many rows a node of a plan has read. */
const rowsRead = (node: PlanNode): number =>
  ((node["Actual Rows"] ?? 0) + (node["Rows Removed by Filter"] ?? 0)) *
  (node["Actual Loops"] ?? 1);

/** Runs a query. Returns the parts of its plan that read more rows of a table than `most`. */
export async function explain(
  client: pg.Client,
  text: string,
  values: unknown[],
  most: number,
): Promise<string[]> {
  const { rows } = await client.query<{ "QUERY PLAN": { Plan: PlanNode }[] }>(
    `explain (analyze, format json) ${text}`,
    values,
  );
  return nodesOf(rows[0]!["QUERY PLAN"][0]!.Plan)
    .filter((node) => (node["Relation Name"] ?? node["Index Name"]) !== undefined)
    .filter((node) => rowsRead(node) > most)
    .map((node) => `${node["Node Type"]} ${node["Index Name"] ?? ""}: ${rowsRead(node)} rows`);
}

export type Case = readonly [
  name: string,
  statement: Statement<never, unknown>,
  params: Record<string, unknown>,
  /** How many rows it may read of a table, if that differs. */
  most?: number,
];

/** Runs statements with their plans for any parameters, and changes nothing. Returns the parts that read many rows. */
export async function wastefulStatements(
  client: pg.Client,
  cases: readonly Case[],
  most: number,
): Promise<string[]> {
  const builder = new PostgresQueries({
    query: () => Promise.reject(new Error("it only builds")),
  });
  const found: string[] = [];
  await client.query("set plan_cache_mode = force_generic_plan");
  for (const [name, statement, params, own] of cases) {
    const compiled = statement.build(builder.sql);
    const given = bind(compiled, params as never).map((value) =>
      typeof value === "string" ? pg.escapeLiteral(value) : String(value),
    );
    await client.query(`begin; prepare hot as ${compiled.sql}`);
    const hot = `execute hot${given.length > 0 ? `(${given.join()})` : ""}`;
    const wasteful = await explain(client, hot, [], own ?? most);
    await client.query("rollback; deallocate hot");
    found.push(...wasteful.map((part) => `${name}: ${part}`));
  }
  await client.query("reset plan_cache_mode");
  return found;
}
