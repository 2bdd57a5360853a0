/**
 * Masks secrets in bytes of output, and finds places to cut it so that the parts are masked as the
 * whole. Depends only on arguments and secrets: the same after a crash.
 */
import { asItIs, extentOf, withoutBreaks, withSingleBlanks, type View } from "./output-views.ts";
import { PatternSet } from "./pattern-set.ts";
import { formsOf, shortestSecret } from "./secret-forms.ts";

const mask = "***";
const newline = 0x0a;

/** A cut may go through a masked region: both sides must know, neither sees the whole secret. */
export interface Cut {
  /** The bytes before the cut; 0 if nothing may be shipped yet. */
  readonly length: number;
  /** The last bytes before the cut belong to a region that continues after it. */
  readonly tail: number;
  /** The first bytes behind the cut belong to that region. */
  readonly carry: number;
  /** A secret may begin this many bytes before the cut: the next cut must see them as context. */
  readonly released: number;
}

/** What is known of the bytes before those that are masked. */
interface Before {
  /** The carry of the cut before. */
  readonly skip?: number;
  /** The first bytes are shown already, and only searched: what the cut before has released. */
  readonly context?: number;
}

interface CutOptions extends Before {
  /** No bytes will follow. */
  readonly final: boolean;
  /** Holds back only what has `shortestSecret` bytes or more in common with a secret. */
  readonly release?: boolean;
}

export interface Redactor {
  /** The bytes after a cut that must be seen to know that no secret goes through it. */
  readonly lookahead: number;
  /** Whether the bytes contain a secret. */
  finds(bytes: Buffer): boolean;
  /** The text behind the context, masked. `tail` is that of the cut after these bytes. */
  redact(bytes: Buffer, before?: Before & { readonly tail?: number }): string;
  /**
   * The last safe cut within `limit` bytes, and the masked text before it. Unless `final`, holds
   * back what may begin a secret or a UTF-8 sequence. Prefers a newline in the second half.
   */
  cut(bytes: Buffer, limit: number, options: CutOptions): Cut & { readonly text: string };
}

export function redactorOf(secrets: readonly string[]): Redactor {
  const forms = formsOf(secrets);
  const searches: Search[] = [
    {
      viewOf: asItIs,
      patterns: new PatternSet(forms.plain()),
      extentOf: (length: number) => length,
    },
    { viewOf: withoutBreaks, patterns: new PatternSet(forms.encoded()), extentOf },
    { viewOf: withSingleBlanks, patterns: new PatternSet(forms.spaced()), extentOf },
  ].filter(({ patterns }) => patterns.longest > 0);
  const longest = Math.max(1, ...searches.map((one) => one.extentOf(one.patterns.longest)));
  return {
    // At least one byte, which shows whether a long stretch continues.
    lookahead: Math.max(1, longest - 1),
    finds: (bytes) => look(searches, bytes).regions.length > 0,
    redact(bytes, { skip = 0, tail = 0, context = 0 } = {}) {
      const known = skippedIn(bytes, context, skip);
      const start = Math.max(context, bytes.length - tail);
      if (tail > 0) known.push({ start, end: bytes.length });
      const { regions } = look(searches, bytes);
      return render(bytes, merge([...known, ...regions]), context, skip > 0);
    },
    cut(bytes, limit, { final, release = false, skip = 0, context = 0 }) {
      // Searches once for both the cut and the text, because the search is the most expensive work
      // for each byte.
      const { regions: found, possibleStart, likelyStart } = look(searches, bytes);
      const safe = final ? bytes.length : release ? likelyStart : possibleStart;
      let end = Math.min(context + limit, safe);
      if (end < bytes.length && end - context >= 16_384) {
        const line = bytes.lastIndexOf(newline, end - 1) + 1;
        if (line - context > (end - context) / 2) end = line;
      }
      const regions = merge([...skippedIn(bytes, context, skip), ...found]);
      const through = regions.find(({ start, end: to }) => start < end && end < to);
      if (!through && (!final || end < bytes.length)) end = characterEnd(bytes, end);
      end = Math.max(context, end);
      const before = regions
        .filter(({ start }) => start < end)
        .map(({ start, end: to }) => ({ start, end: Math.min(to, end) }));
      return {
        length: end - context,
        tail: through ? end - Math.max(context, through.start) : 0,
        carry: through ? through.end - end : 0,
        released: final ? 0 : Math.max(0, end - possibleStart),
        text: render(bytes.subarray(0, end), before, context, skip > 0),
      };
    },
  };
}

/** Patterns, and the view of the output in which they are searched. */
interface Search {
  readonly viewOf: (bytes: Buffer) => View;
  readonly patterns: PatternSet;
  /** The bytes of output that a pattern of this length may take. */
  readonly extentOf: (length: number) => number;
}

/**
 * Every place of every pattern, the first place from which the rest could begin one, and the first
 * from which chance is unlikely.
 */
function look(
  searches: readonly Search[],
  bytes: Buffer,
): { regions: Region[]; possibleStart: number; likelyStart: number } {
  const regions: Region[] = [];
  let possibleStart = bytes.length;
  let likelyStart = bytes.length;
  for (const { viewOf, patterns, extentOf: extent } of searches) {
    const view = viewOf(bytes);
    const endOf = (at: number, length: number): number => view.placeOf(at + length - 1) + 1;
    const { length: size } = view.bytes;
    for (
      let at = patterns.nextCandidate(view.bytes, 0);
      at < size;
      at = patterns.nextCandidate(view.bytes, at + 1)
    ) {
      const length = patterns.matchAt(
        view.bytes,
        at,
        (one) => endOf(at, one) - view.placeOf(at) <= extent(one),
      );
      if (length > 0) regions.push({ start: view.placeOf(at), end: endOf(at, length) });
    }
    const far = bytes.length - extent(patterns.longest);
    let first = Math.max(0, size - patterns.longest + 1);
    while (first < size && view.placeOf(first) <= far) first++;
    for (let at = first; at < size; at++) {
      const place = view.placeOf(at);
      const isLikely = size - at >= shortestSecret;
      if (place >= (isLikely ? likelyStart : possibleStart)) break;
      if (!patterns.mayGrowAt(view.bytes, at)) continue;
      // The first one of a view has most in common with a pattern.
      if (isLikely) likelyStart = place;
      possibleStart = Math.min(possibleStart, place);
      break;
    }
  }
  return { regions, possibleStart, likelyStart };
}

/** The bytes behind the context that belong to a region before them. */
const skippedIn = (bytes: Buffer, context: number, skip: number): Region[] =>
  skip > 0 ? [{ start: context, end: Math.min(context + skip, bytes.length) }] : [];

/** `isInside`: a region began before `from`, and the text before has its stars. */
function render(
  bytes: Buffer,
  regions: readonly Region[],
  from: number,
  isInside: boolean,
): string {
  let text = "";
  let end = from;
  for (const region of regions) {
    if (region.end <= from) continue;
    if (region.start > end) text += bytes.toString("utf8", end, region.start);
    if (!isInside || region.start > from) text += mask;
    end = region.end;
  }
  return end === 0 ? bytes.toString("utf8") : text + bytes.toString("utf8", end);
}

interface Region {
  readonly start: number;
  readonly end: number;
}

/** Regions that only touch stay separate: the result may not depend on a cut between them. */
function merge(regions: Region[]): Region[] {
  if (regions.length < 2) return regions;
  const merged: { start: number; end: number }[] = [];
  for (const { start, end } of regions.toSorted((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (last && start < last.end) last.end = Math.max(last.end, end);
    else merged.push({ start, end });
  }
  return merged;
}

/** Before a UTF-8 sequence that is not complete at `length`. Before a lead byte, cuts are safe. */
function characterEnd(bytes: Buffer, length: number): number {
  for (let back = 1; back <= 3 && back <= length; back++) {
    const byte = bytes[length - back] ?? 0;
    if (byte >= 0x80 && byte < 0xc0) continue;
    const needed = byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : byte < 0xf8 ? 4 : 1;
    return needed > back ? length - back : length;
  }
  return length;
}
