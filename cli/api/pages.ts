/** Lists that may be long, read page by page until there is enough. */
import { Failure } from "../terminal/output.ts";

/** The server's limit of a page. */
const pageLimit = 1000;

interface Page<T> {
  readonly items: readonly T[];
  readonly next_cursor: string | null;
}

/** At most `wanted` items, and whether there are more. */
export async function readPages<T>(
  wanted: number,
  read: (query: { limit: number; cursor?: string }) => Promise<Page<T>>,
): Promise<{ items: T[]; more: boolean }> {
  const items: T[] = [];
  let cursor: string | undefined;
  do {
    const limit = Math.min(pageLimit, wanted - items.length);
    const page: Page<T> = await read(cursor === undefined ? { limit } : { limit, cursor });
    items.push(...page.items);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined && items.length < wanted);
  return { items, more: cursor !== undefined };
}

/** A whole number of the command line, at least 0. Throws `Failure` with 2 when it is none. */
export function wholeOf(option: string, text: string): number {
  if (/^\d{1,7}$/.test(text)) return Number(text);
  throw new Failure(`${option} "${text}" is not a number from 0 on`, 2);
}

/** A number of the command line, at least 1. Throws `Failure` with 2 when it is none. */
export function countOf(option: string, text: string): number {
  if (/^\d{1,7}$/.test(text) && Number(text) > 0) return Number(text);
  throw new Failure(`${option} "${text}" is not a number from 1 on`, 2);
}
