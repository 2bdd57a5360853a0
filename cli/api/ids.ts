/** Ids as users type them: whole, or their beginning, which is a range of an index. */
import { idPrefixLength } from "../../protocol/limits.ts";

/** As the server writes it; undefined if it is no beginning of an id. Hyphens may be left out. */
export function idPrefixOf(text: string): string | undefined {
  const typed = text.toLowerCase().replace(/-$/, "");
  const digits = typed.replaceAll("-", "");
  if (!/^[0-9a-f]{1,32}$/.test(digits) || typed.length < idPrefixLength) return undefined;
  const written = [0, 8, 12, 16, 20, 32]
    .flatMap((start, at, starts) => digits.slice(start, starts[at + 1]) || [])
    .join("-");
  return typed === written || typed === digits ? written : undefined;
}

export const isWholeId = (text: string): boolean => idPrefixOf(text)?.length === 36;
