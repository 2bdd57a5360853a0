/** Pages of lists: as many entries as are shown, and the link to older ones. */
import { validate } from "uuid";
import { notFound } from "../../domain/refusal.ts";
import { html, type Html } from "./html.ts";

/** A page of a list; `next` continues it. */
export interface ListPage<T> {
  readonly items: readonly T[];
  readonly next: string | undefined;
}

/** Returns the page that a query asks for with `before`; what is no id asks for the newest. */
export async function readList<T extends { readonly id: string }>(
  query: unknown,
  shown: number,
  list: (before: string | undefined, limit: number) => Promise<readonly T[]>,
): Promise<ListPage<T>> {
  const { before } = query as { before?: unknown };
  const found = await list(
    typeof before === "string" && validate(before) ? before : undefined,
    shown + 1,
  );
  const items = found.slice(0, shown);
  return { items, next: found.length > shown ? items.at(-1)?.id : undefined };
}

/** `path`: with the query of a filter, if there is one. */
export const olderLink = (path: string, next: string | undefined, words: string): Html | null =>
  next === undefined
    ? null
    : html`<p>
        <a href="${path}${path.includes("?") ? "&" : "?"}before=${next}">Older ${words}</a>
      </p>`;

/** The id that an address names. */
export function idIn(params: unknown, what: string, field = "id"): string {
  const id = (params as Record<string, string>)[field] ?? "";
  if (!validate(id)) throw notFound(what);
  return id.toLowerCase();
}
