import { setImmediate as nextTurn } from "node:timers/promises";
import { idPrefixLength } from "../../../protocol/limits.ts";
import {
  readNames,
  type NamedRow,
  type NamePage,
  type SearchedTable,
} from "../../store/search/names.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { findJobPage } from "../jobs/jobs.ts";
import type { JobSummary } from "../jobs/views.ts";
import { seesWholeSpace } from "../teams/spaces.ts";

/** Characters of a search text that are used: no name is longer. */
const textLimit = 100;
/** How many things of each kind are found at most. */
export const foundLimit = 20;

/** How many names of each kind are read at most, and how many at a time: 1,000 take 10 ms. */
export const searchedNames = 10_000;
const pageSize = 1000;

export interface SearchHits {
  readonly kind: SearchedTable;
  readonly things: readonly NamedRow[];
  /** Whether there are more names than are read. */
  readonly isPartial: boolean;
}

const kindsInZones = ["configurations", "zones"] as const;
const kinds = [
  ...kindsInZones,
  "workers",
  "identities",
  "variable-sets",
] as const satisfies readonly SearchedTable[];

/** Returns the kinds of which something was found, or not every name was read. */
export async function search(
  context: Context,
  caller: UserCaller,
  asked: string,
): Promise<SearchHits[]> {
  const { space_id: owner } = caller;
  const text = asked.trim().slice(0, textLimit);
  if (text === "") return [];
  const searched = seesWholeSpace(caller) ? kinds : kindsInZones;
  const found = await Promise.all(
    searched.map((kind) => searchKind(context, kind, { owner, text })),
  );
  return found.filter(({ things, isPartial }) => things.length > 0 || isPartial);
}

/** In pages, between which other requests run. */
async function searchKind(
  { store: { read } }: Context,
  kind: SearchedTable,
  search: Pick<NamePage, "owner" | "text">,
): Promise<SearchHits> {
  const things: NamedRow[] = [];
  let after: NamePage["after"];
  for (let left = searchedNames; ; left -= pageSize) {
    const page = await readNames(read, kind, { ...search, after, limit: pageSize + 1 });
    const isMore = page.length > pageSize;
    const rows = page.slice(0, pageSize);
    things.push(...rows.filter(({ found }) => found).map(({ id, name }) => ({ id, name })));
    const isFull = things.length >= foundLimit;
    if (isFull || !isMore || left <= pageSize)
      return { kind, things: things.slice(0, foundLimit), isPartial: isMore && !isFull };
    after = rows.at(-1);
    await nextTurn();
  }
}

/** Finds the newest jobs whose id begins with a text: the client prints the beginning of ids. */
export async function searchJobs(
  context: Context,
  caller: UserCaller,
  asked: string,
): Promise<readonly JobSummary[]> {
  const prefix = asked.trim().toLowerCase();
  if (!isIdStart(prefix)) return [];
  return (await findJobPage(context, caller, { prefix, limit: foundLimit })).jobs;
}

export const isIdStart = (text: string): boolean =>
  text.length >= idPrefixLength && /^[0-9a-f][0-9a-f-]{1,35}$/.test(text);
