/** Counts the work of a service in the store, which does not depend on the speed of the machine. */
import type { KyselyPlugin } from "kysely";
import type { Queries, Store } from "../../../control-plane/store/db.ts";

export interface Work {
  statements: number;
  /** Rows that statements returned. */
  rows: number;
}

/** Returns a context whose statements are counted in `work`, inside of transactions too. */
export function counted<C extends { readonly store: Store }>(
  context: C,
): { readonly context: C; readonly work: Work } {
  const work: Work = { statements: 0, rows: 0 };
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      work.statements += 1;
      work.rows += result.rows.length;
      return result;
    },
  };
  const count = <T>(rows: readonly T[]): readonly T[] => {
    work.statements += 1;
    work.rows += rows.length;
    return rows;
  };
  const watch = (queries: Queries): Queries => ({
    sql: queries.sql.withPlugin(plugin),
    all: async (statement, params) => count(await queries.all(statement, params)) as never,
    first: async (statement, params) => {
      const row = await queries.first(statement, params);
      count(row === undefined ? [] : [row]);
      return row;
    },
    run: async (statement, params) => {
      const result = await queries.run(statement, params);
      count([]);
      return result;
    },
  });
  const { store } = context;
  const watched = new Proxy(store, {
    get: (target, name) => {
      if (name === "read") return watch(target.read);
      if (name === "write")
        return (body: (tx: Queries) => Promise<unknown>) => target.write((tx) => body(watch(tx)));
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { context: { ...context, store: watched }, work };
}
