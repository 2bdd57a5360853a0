/** The page to return to after a sign-in. */

/**
 * A path of this site and nothing else. What a browser makes of it counts: `/\\host` and
 * `/<tab>/host` are other sites.
 */
export function nextOf(query: unknown): string | undefined {
  const { next } = query as { next?: unknown };
  if (typeof next !== "string" || next.length > 1000 || !next.startsWith("/")) return undefined;
  const here = "http://here.invalid";
  const url = URL.parse(next, here);
  // `/.//host` becomes `//host`, which is another site once more.
  return url?.origin === here && !url.pathname.startsWith("//")
    ? `${url.pathname}${url.search}`
    : undefined;
}
