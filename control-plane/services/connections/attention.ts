/** Connections that need a person, and whom a connection serves. */
import type { Connection } from "../../../protocol/connections.ts";
import { time } from "../../domain/moments.ts";
import { findBrokenConnections } from "../../store/connections/connections.ts";
import { listFollowers as listRows, type Follower } from "../../store/connections/follows.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { findRow } from "./connections.ts";

export type BrokenConnection = Pick<Connection, "id" | "name"> & NonNullable<Connection["error"]>;

export async function listBrokenConnections(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  limit: number,
): Promise<BrokenConnection[]> {
  const rows = await read.all(findBrokenConnections, { owner, limit });
  return rows.map(({ id, name, error, error_since, updated_at }) => ({
    id,
    name,
    message: error ?? "",
    since: time(error_since ?? updated_at),
  }));
}

export async function listFollowers(
  { store: { read } }: Context,
  user: UserCaller,
  id: string,
  limit: number,
): Promise<Follower[]> {
  const { id: connection } = await findRow(read, user, id);
  return read.all(listRows, { connection, limit });
}
