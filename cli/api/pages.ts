/** Reads paged lists. */
import { CliError } from "../terminal/output.ts";

/** The largest page that the server returns. */
const pageLimit = 1000;

interface Page<T> {
  readonly items: readonly T[];
  readonly next_cursor: string | null;
}

/** Reads pages until there are `wanted` items, and returns whether more exist. */
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

/** Parses a whole number from 1 to `limit`. Throws `CliError` with exit code 2 otherwise. */
export const parseCount = (option: string, text: string, limit = 9_999_999): number =>
  parseWholeNumber(option, text, limit, 1);

/** Parses a whole number from 0. */
export function parseWholeNumber(option: string, text: string, limit: number, least = 0): number {
  const number = /^\d{1,7}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= least && number <= limit) return number;
  throw new CliError(
    `${option} must be a whole number from ${least} to ${limit}, not "${text}"`,
    2,
  );
}
