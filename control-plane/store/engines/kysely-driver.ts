/** Kysely over a connection of ours: it runs queries, and neither streams nor begins transactions. */
import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from "kysely";

export type ExecuteQuery = <R>(query: CompiledQuery) => Promise<QueryResult<R>>;

/** Transactions are `Store.write`'s business, so Kysely's are refused. */
export function driverOver(executeQuery: ExecuteQuery): Driver {
  const connection: DatabaseConnection = {
    executeQuery,
    // oxlint-disable-next-line require-yield -- Kysely asks for a generator; lists use pages
    streamQuery: async function* () {
      throw new Error("lists are read in pages, not streamed from the driver");
    },
  };
  return {
    init: nothing,
    acquireConnection: () => Promise.resolve(connection),
    releaseConnection: nothing,
    beginTransaction: refuse,
    commitTransaction: refuse,
    rollbackTransaction: refuse,
    destroy: nothing,
  };
}

const nothing = () => Promise.resolve();
const refuse = () =>
  Promise.reject(new Error("transactions are made by Store.write, not by Kysely"));
