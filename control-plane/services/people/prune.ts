/** Removes sign-in records and registration tokens long after they expired. */
import { deleteExpired } from "../../store/people/prune.ts";
import type { Context } from "../context.ts";

/** Kept so long after their end: a dead device code must stay dead for a client that still shows it. */
const graceMilliseconds = 30 * 24 * 3600_000;

/** Removes what expired long ago. */
export const pruneExpired = ({ store, now }: Context): Promise<void> =>
  store.write((tx) => deleteExpired(tx, now() - graceMilliseconds));
