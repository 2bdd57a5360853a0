import { idPrefixLength } from "../../../protocol/limits.ts";
import {
  findSpecName,
  searchNames,
  type NamedRow,
  type SearchedTable,
} from "../../store/search/names.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { findJobPage } from "../jobs/jobs.ts";
import type { JobSummary } from "../jobs/views.ts";

/** Characters of a search text that are used: no name is longer. */
const textLimit = 100;
/** How many things of each kind are found at most. */
const foundLimit = 20;

export interface SearchHits {
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

export async function search(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  asked: string,
): Promise<SearchHits[]> {
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

export const findConfigurationName = (
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  id: string,
): Promise<NamedRow | undefined> => read.first(findSpecName, { id, owner });
