/**
 * Masks secrets in output, on bytes, and finds places to cut the output so that masking the parts
 * gives the same as masking the whole. Everything here depends only on the arguments and the
 * secrets, so after a crash the results are the same.
 */
import { asItIs, extentOf, withoutBreaks, withSingleBlanks, type View } from "./output-views.ts";
import { PatternSet } from "./pattern-set.ts";
import { formsOf } from "./secret-forms.ts";

const mask = "***";
const newline = 0x0a;

/**
 * A place to cut. A cut may go through a masked region: then both sides must know, because neither
 * sees the whole secret.
 */
export interface Cut {
  /** The bytes before the cut; 0 if nothing may be shipped yet. */
  readonly length: number;
  /** The last bytes before the cut belong to a region that continues after it. */
  readonly tail: number;
  /** The first bytes behind the cut belong to that region. */
  readonly carry: number;
}

export interface Redactor {
  /** The bytes after a cut that must be seen to know that no secret goes through it. */
  readonly lookahead: number;
  /** Whether the bytes contain a secret. */
  finds(bytes: Buffer): boolean;
  /**
   * Returns the text with every secret masked. `skip` is the carry of the cut before these bytes,
   * `tail` that of the cut after them.
   */
  redact(bytes: Buffer, skip?: number, tail?: number): string;
  /**
   * Returns the last safe cut at or before `limit`, and the masked text before it. Unless `final`,
   * what may be the start of a secret or of a UTF-8 sequence is held back. A long stretch is cut
   * after a newline if there is one in its second half.
   */
  cut(bytes: Buffer, limit: number, final: boolean, skip?: number): Cut & { readonly text: string };
}

/** Returns a redactor for these secrets. */
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
    redact(bytes, skip = 0, tail = 0) {
      const known: Region[] = [];
      if (skip > 0) known.push({ start: 0, end: Math.min(skip, bytes.length) });
      if (tail > 0) known.push({ start: bytes.length - tail, end: bytes.length });
      const { regions } = look(searches, bytes);
      return render(bytes, merge([...known, ...regions]), skip > 0);
    },
    cut(bytes, limit, final, skip = 0) {
      // Searches once for both the cut and the text, because the search is the most expensive work
      // for each byte.
      const { regions: found, possibleStart } = look(searches, bytes);
      let length = Math.min(limit, final ? bytes.length : possibleStart);
      if (length < bytes.length && length >= 16_384) {
        const line = bytes.lastIndexOf(newline, length - 1) + 1;
        if (line > length / 2) length = line;
      }
      const known = skip > 0 ? [{ start: 0, end: skip }] : [];
      const regions = merge([...known, ...found]);
      const through = regions.find(({ start, end }) => start < length && length < end);
      if (!through && (!final || length < bytes.length)) length = characterEnd(bytes, length);
      const before = regions
        .filter(({ start }) => start < length)
        .map(({ start, end }) => ({ start, end: Math.min(end, length) }));
      return {
        length,
        tail: through ? length - through.start : 0,
        carry: through ? through.end - length : 0,
        text: render(bytes.subarray(0, length), before, skip > 0),
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
 * Returns every place of every pattern, overlapping ones included, and the first place from which
 * the rest could be the start of one.
 */
function look(
  searches: readonly Search[],
  bytes: Buffer,
): { regions: Region[]; possibleStart: number } {
  const regions: Region[] = [];
  let possibleStart = bytes.length;
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
    let first = Math.max(0, view.bytes.length - patterns.longest + 1);
    while (first < view.bytes.length && view.placeOf(first) <= far) first++;
    for (let at = first; at < view.bytes.length; at++) {
      if (view.placeOf(at) >= possibleStart) break;
      if (patterns.mayGrowAt(view.bytes, at)) possibleStart = view.placeOf(at);
    }
  }
  return { regions, possibleStart };
}

/** `isInside`: the first region began before these bytes, and the text before has its stars. */
function render(bytes: Buffer, regions: readonly Region[], isInside: boolean): string {
  let text = "";
  let end = 0;
  for (const region of regions) {
    text += bytes.toString("utf8", end, region.start);
    if (!isInside || region.start > 0) text += mask;
    end = region.end;
  }
  return end === 0 ? bytes.toString("utf8") : text + bytes.toString("utf8", end);
}

interface Region {
  readonly start: number;
  readonly end: number;
}

/**
 * Joins regions that overlap. Regions that only touch stay separate: a cut is allowed between them,
 * so the result may not depend on it.
 */
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

/**
 * Goes back to before a UTF-8 sequence that is not complete at `length`. Before a lead byte every
 * cut is safe.
 */
function characterEnd(bytes: Buffer, length: number): number {
  for (let back = 1; back <= 3 && back <= length; back++) {
    const byte = bytes[length - back] ?? 0;
    if (byte >= 0x80 && byte < 0xc0) continue;
    const needed = byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : byte < 0xf8 ? 4 : 1;
    return needed > back ? length - back : length;
  }
  return length;
}
