/** Pages of the chunks of a log that are in the database. */
import type { Queries } from "../../store/db.ts";
import { sizeChunks } from "../../store/logs/logs.ts";

/** The most that a page has: chunks, and bytes of text unless its only chunk has more. */
export interface PageLimit {
  readonly chunks: number;
  readonly bytes: number;
}

/** At least one chunk, then as many as fit. Returns its last id and whether it is the last page. */
export async function findPage(
  queries: Queries,
  job: string,
  after: number,
  { chunks, bytes }: PageLimit,
): Promise<{ last: number | undefined; isLast: boolean }> {
  // One more, to find out whether this page is the last one.
  const sizes = await queries.all(sizeChunks, { job, after, limit: chunks + 1 });
  const count = countFitting(sizes, { chunks, bytes });
  return { last: sizes[count - 1]?.id, isLast: count === sizes.length };
}

/** Returns how many chunks fit on a page: at least one, if there is one. */
export function countFitting(
  sizes: readonly { readonly bytes: number }[],
  limit: PageLimit,
): number {
  let total = 0;
  let count = 0;
  for (; count < Math.min(limit.chunks, sizes.length); count += 1) {
    total += sizes[count]?.bytes ?? 0;
    if (total > limit.bytes && count > 0) break;
  }
  return count;
}
