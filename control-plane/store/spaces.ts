/**
 * The spaces for which queries run. Work on behalf of a person names them; on PostgreSQL, its
 * queries then see the rows of these spaces only (docs/postgresql.md, "Row security"). All other
 * work, for runners and by timers, is the system's and sees every row. Of a space in which the person
 * has roles in some zones only, lists have what is in those zones (`isSeen`).
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { sql, type RawBuilder } from "kysely";

/** What is seen of a space. */
export interface SeenSpace {
  readonly id: string;
  /** Ids of the only zones that are seen; undefined: all. */
  readonly zones?: readonly string[] | undefined;
  /** Ids of the only configurations in them; undefined: all. */
  readonly configurations?: readonly string[] | undefined;
}

const current = new AsyncLocalStorage<readonly SeenSpace[] | undefined>();

/** Runs work, and everything that it awaits or starts, for these spaces. */
export const inSpaces = <T>(spaces: readonly SeenSpace[], work: () => T): T =>
  current.run(spaces, work);

/** Runs work as the system, although a person caused it. */
export const asSystem = <T>(work: () => T): T => current.run(undefined, work);

/** The spaces of the work that calls; undefined: it is the system's. */
export const currentSpaces = (): readonly SeenSpace[] | undefined => current.getStore();

const limitsOf = (owner: string): SeenSpace | undefined => {
  const space = currentSpaces()?.find(({ id }) => id === owner);
  return space?.zones === undefined ? undefined : space;
};

/** Whether lists of a space lack what is not in certain zones. */
export const isLimited = (owner: string): boolean => limitsOf(owner) !== undefined;

/**
 * Whether a row of an owner is seen by its zone and, if it belongs to one, its configuration. Of a
 * zone itself only the first column is given, and it is seen with any of its configurations.
 */
export function isSeen(owner: string, zone: string, configuration?: string): RawBuilder<boolean> {
  const limits = limitsOf(owner);
  if (limits === undefined) return sql<boolean>`1 = 1`;
  const { zones = [], configurations } = limits;
  const inZones = sql`${sql.ref(zone)} in (select value from json_each(${JSON.stringify(zones)}))`;
  return configurations === undefined || configuration === undefined
    ? sql<boolean>`${inZones}`
    : sql<boolean>`(${inZones} and ${sql.ref(configuration)} in (
        select value from json_each(${JSON.stringify(configurations)})))`;
}
