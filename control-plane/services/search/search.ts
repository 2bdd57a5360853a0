/** The search over the names of everything that a user has. */
import {
  findSpecName,
  searchNames,
  type NamedRow,
  type SearchedTable,
} from "../../store/search/names.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";

/** Characters of a search text that are used: no name is longer. */
const textLimit = 100;
/** How many things of each kind are found at most. */
const foundLimit = 20;

/** What was found, by kind; a kind without anything is not listed. */
export interface Found {
  readonly kind: SearchedTable;
  readonly things: readonly NamedRow[];
}

const kinds = [
  "configurations",
  "zones",
  "workers",
  "identities",
  "variable-sets",
] as const satisfies readonly SearchedTable[];

/** Finds what has a text in its name, in any case of letters. */
export async function search(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  asked: string,
): Promise<Found[]> {
  const text = asked.trim().slice(0, textLimit);
  if (text === "") return [];
  const found = await Promise.all(
    kinds.map(async (kind) => ({
      kind,
      things: await searchNames(read, kind, { owner, text, limit: foundLimit }),
    })),
  );
  return found.filter(({ things }) => things.length > 0);
}

/** The configuration with its name; undefined if the user has none with this id. */
export const findConfigurationName = (
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  id: string,
): Promise<NamedRow | undefined> => read.first(findSpecName, { id, owner });
