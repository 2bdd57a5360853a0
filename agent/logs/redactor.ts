/**
 * Masks secrets in output, on bytes, and says where output may be cut so that masking the parts gives what masking the whole
 * would give. Everything here is a pure function of its arguments and the secrets: after a crash it gives the same again.
 */
import { patternsOf } from "./secret-forms.ts";

const mask = "***";
const newline = 0x0a;

/** Where to cut. A cut may go through a masked region: then both sides must be told, because neither sees the whole secret. */
export interface Cut {
  /** Bytes before the cut; 0 when nothing may be shipped yet. */
  readonly length: number;
  /** The last bytes before the cut belong to a region that goes on behind it. */
  readonly tail: number;
  /** The first bytes behind the cut belong to that region. */
  readonly carry: number;
}

export interface Redactor {
  /** Bytes behind a cut that must be seen to know that no secret goes through it. */
  readonly lookahead: number;
  /** The text with every secret replaced. `skip` is the carry of the cut before these bytes, `tail` that of the cut behind them. */
  redact(bytes: Buffer, skip?: number, tail?: number): string;
  /**
   * The last safe cut at or before `limit`. Unless `final`, what may be the start of a secret or of a UTF-8 sequence is held back.
   * A long stretch is cut behind a newline if there is one in its second half.
   */
  safeCut(bytes: Buffer, limit: number, final: boolean, skip?: number): Cut;
}

/** A redactor for these secrets. */
export function redactorOf(secrets: readonly string[]): Redactor {
  const patterns = patternsOf(secrets);
  const longest = Math.max(1, ...patterns.map((pattern) => pattern.length));
  return {
    // At least one byte, which tells whether a long stretch goes on.
    lookahead: Math.max(1, longest - 1),
    redact(bytes, skip = 0, tail = 0) {
      const known: Region[] = [];
      if (skip > 0) known.push({ start: 0, end: Math.min(skip, bytes.length) });
      if (tail > 0) known.push({ start: bytes.length - tail, end: bytes.length });
      const regions = merge([...known, ...occurrences(patterns, bytes)]);
      if (regions.length === 0) return bytes.toString("utf8");
      let text = "";
      let end = 0;
      for (const region of regions) {
        text += bytes.toString("utf8", end, region.start);
        // The stars of a region that began before these bytes stand in the text before.
        if (skip === 0 || region.start > 0) text += mask;
        end = region.end;
      }
      return text + bytes.toString("utf8", end);
    },
    safeCut(bytes, limit, final, skip = 0) {
      let length = Math.min(limit, final ? bytes.length : possibleStart(patterns, longest, bytes));
      if (length < bytes.length && length >= 16_384) {
        const line = bytes.lastIndexOf(newline, length - 1) + 1;
        if (line > length / 2) length = line;
      }
      const known = skip > 0 ? [{ start: 0, end: skip }] : [];
      const through = merge([...known, ...occurrences(patterns, bytes)]).find(
        ({ start, end }) => start < length && length < end,
      );
      if (through) {
        return { length, tail: length - through.start, carry: through.end - length };
      }
      if (!final || length < bytes.length) length = characterEnd(bytes, length);
      return { length, tail: 0, carry: 0 };
    },
  };
}

interface Region {
  readonly start: number;
  readonly end: number;
}

/** Every place of every pattern, those that overlap included. */
function occurrences(patterns: readonly Buffer[], bytes: Buffer): Region[] {
  const found: Region[] = [];
  for (const pattern of patterns) {
    let start = bytes.indexOf(pattern);
    while (start >= 0) {
      found.push({ start, end: start + pattern.length });
      start = bytes.indexOf(pattern, start + 1);
    }
  }
  return found;
}

/** Joins regions that overlap. Neighbours that only touch stay apart: between them a cut is allowed, so the result may not depend on it. */
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

/** The first place from which the rest of the bytes could be the start of a pattern. */
function possibleStart(patterns: readonly Buffer[], longest: number, bytes: Buffer): number {
  for (let start = Math.max(0, bytes.length - longest + 1); start < bytes.length; start++) {
    if (patterns.some((pattern) => startsWithRest(pattern, bytes, start))) return start;
  }
  return bytes.length;
}

function startsWithRest(pattern: Buffer, bytes: Buffer, start: number): boolean {
  const length = bytes.length - start;
  if (length >= pattern.length) return false;
  for (let index = 0; index < length; index++) {
    if (pattern[index] !== bytes[start + index]) return false;
  }
  return true;
}

/** Goes back in front of a UTF-8 sequence that is not complete at `length`. In front of a lead byte every cut is safe. */
function characterEnd(bytes: Buffer, length: number): number {
  for (let back = 1; back <= 3 && back <= length; back++) {
    const byte = bytes[length - back] ?? 0;
    if (byte >= 0x80 && byte < 0xc0) continue;
    const needed = byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : byte < 0xf8 ? 4 : 1;
    return needed > back ? length - back : length;
  }
  return length;
}
