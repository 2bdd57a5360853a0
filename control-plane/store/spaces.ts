/**
 * The spaces for which queries run. Work on behalf of a person names them; on PostgreSQL, its
 * queries then see the rows of these spaces only (docs/postgresql.md, "Row security"). All other
 * work, for runners and by timers, is the system's and sees every row.
 */
import { AsyncLocalStorage } from "node:async_hooks";

const current = new AsyncLocalStorage<readonly string[] | undefined>();

/** Runs work, and everything that it awaits or starts, for these spaces. */
export const inSpaces = <T>(spaces: readonly string[], work: () => T): T =>
  current.run(spaces, work);

/** Runs work as the system, although a person caused it. */
export const asSystem = <T>(work: () => T): T => current.run(undefined, work);

/** The spaces of the work that calls; undefined: it is the system's. */
export const currentSpaces = (): readonly string[] | undefined => current.getStore();
