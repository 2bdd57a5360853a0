/**
 * Finds any of many byte patterns, in typed arrays outside the agent's small heap. The cost does
 * not grow with their number: a table of the first two bytes rejects almost every place, a filter
 * of the first six almost all others, and a binary search decides.
 */

/** The length of the shortest pattern that a set accepts, in bytes. */
const shortestPattern = 6;

export class PatternSet {
  /** The length of the longest pattern; 0 in an empty set. */
  readonly longest: number = 0;
  /** All patterns one after the other, in lexicographic order and without duplicates. */
  readonly #bytes: Buffer;
  /** Where each pattern starts; one more entry for the end of the last. */
  readonly #starts: Uint32Array;
  /** The longest other pattern with which this one starts; -1: none. */
  readonly #parents: Int32Array;
  readonly #pairs = new Uint8Array(65_536);
  /** One bit for each hash of the first six bytes. */
  readonly #filter: Uint8Array;
  readonly #filterShift: number;

  /** Patterns shorter than `shortestPattern` are left out. */
  constructor(patterns: Iterable<Buffer>) {
    const { bytes, starts } = sorted(patterns);
    this.#bytes = bytes;
    this.#starts = starts;
    this.#parents = new Int32Array(starts.length - 1);
    const filterBits = Math.max(10, 4 + Math.ceil(Math.log2(starts.length)));
    this.#filterShift = 32 - filterBits;
    this.#filter = new Uint8Array((1 << filterBits) / 8);
    for (let index = 0; index < starts.length - 1; index++) {
      const start = this.#start(index);
      const length = this.#length(index);
      if (length > this.longest) this.longest = length;
      this.#pairs[bytes.readUInt16LE(start)] = 1;
      const hash = hashAt(bytes, start) >>> this.#filterShift;
      this.#filter[hash >>> 3]! |= 1 << (hash & 7);
      let parent = index - 1;
      while (parent >= 0 && this.#common(parent, bytes, start, length) < this.#length(parent))
        parent = this.#parents[parent] ?? -1;
      this.#parents[index] = parent;
    }
  }

  /** The first place from `from` on at which a pattern may start, or the length of the bytes. */
  nextCandidate(bytes: Buffer, from: number): number {
    const pairs = this.#pairs;
    const last = bytes.length - shortestPattern;
    for (let at = from; at <= last; at++) {
      if (pairs[(bytes[at] as number) | ((bytes[at + 1] as number) << 8)] === 0) continue;
      const hash = hashAt(bytes, at) >>> this.#filterShift;
      if ((((this.#filter[hash >>> 3] as number) >>> (hash & 7)) & 1) === 1) return at;
    }
    return bytes.length;
  }

  /** The length of the longest pattern at this place that `accepts` allows, or 0. */
  matchAt(bytes: Buffer, start: number, accepts: (length: number) => boolean): number {
    const rest = Math.min(this.longest, bytes.length - start);
    let index = this.#insertionPoint(bytes, start, rest) - 1;
    if (index < 0) return 0;
    const common = this.#common(index, bytes, start, rest);
    for (; index >= 0; index = this.#parents[index] ?? -1) {
      const length = this.#length(index);
      if (length <= common && accepts(length)) return length;
    }
    return 0;
  }

  /** Whether the bytes from this place on are the start of a pattern, but not all of it. */
  mayGrowAt(bytes: Buffer, start: number): boolean {
    const rest = bytes.length - start;
    if (rest >= this.longest) return false;
    if (rest >= 2 && this.#pairs[bytes.readUInt16LE(start)] === 0) return false;
    const next = this.#insertionPoint(bytes, start, rest);
    return next < this.#parents.length && this.#common(next, bytes, start, rest) === rest;
  }

  /** The first pattern that is greater than these bytes; one that equals them is not. */
  #insertionPoint(bytes: Buffer, start: number, length: number): number {
    let low = 0;
    let high = this.#parents.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const from = this.#start(middle);
      const order = this.#bytes.compare(bytes, start, start + length, from, this.#end(middle));
      if (order <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** How many bytes the pattern and the text have in common at their start. */
  #common(index: number, bytes: Buffer, start: number, length: number): number {
    const from = this.#start(index);
    const limit = Math.min(this.#length(index), length);
    let common = 0;
    while (common < limit && this.#bytes[from + common] === bytes[start + common]) common++;
    return common;
  }

  #start(index: number): number {
    return this.#starts[index] ?? 0;
  }

  #end(index: number): number {
    return this.#starts[index + 1] ?? 0;
  }

  #length(index: number): number {
    return this.#end(index) - this.#start(index);
  }
}

function hashAt(bytes: Buffer, at: number): number {
  const low = bytes.readInt32LE(at);
  const high = (bytes[at + 4] as number) | ((bytes[at + 5] as number) << 8);
  const mixed = Math.imul(low, 0x9e3779b1) ^ Math.imul(high, 0x85ebca77);
  return Math.imul(mixed ^ (mixed >>> 15), 0xc2b2ae35) >>> 0;
}

function sorted(patterns: Iterable<Buffer>): { bytes: Buffer; starts: Uint32Array } {
  let raw = Buffer.allocUnsafeSlow(4096);
  let ends = new Uint32Array(64);
  let count = 0;
  let size = 0;
  for (const pattern of patterns) {
    if (pattern.length < shortestPattern) continue;
    if (size + pattern.length > raw.length) {
      const larger = Buffer.allocUnsafeSlow(2 * (size + pattern.length));
      raw.copy(larger, 0, 0, size);
      raw = larger;
    }
    if (count === ends.length) {
      const larger = new Uint32Array(2 * count);
      larger.set(ends);
      ends = larger;
    }
    size += pattern.copy(raw, size);
    ends[count++] = size;
  }
  const startOf = (index: number): number => (index === 0 ? 0 : (ends[index - 1] ?? 0));
  const endOf = (index: number): number => ends[index] ?? 0;
  // The first six bytes as a number decide almost every comparison.
  const keys = new Float64Array(count);
  for (let index = 0; index < count; index++) keys[index] = raw.readUIntBE(startOf(index), 6);
  const compare = (a: number, b: number): number =>
    (keys[a] ?? 0) - (keys[b] ?? 0) || raw.compare(raw, startOf(b), endOf(b), startOf(a), endOf(a));
  const order = new Uint32Array(count);
  for (let index = 0; index < count; index++) order[index] = index;
  order.sort(compare);

  const bytes = Buffer.allocUnsafeSlow(size);
  const starts = new Uint32Array(count + 1);
  let kept = 0;
  let length = 0;
  let last = -1;
  for (const index of order) {
    if (last >= 0 && compare(last, index) === 0) continue;
    last = index;
    length += raw.copy(bytes, length, startOf(index), endOf(index));
    starts[++kept] = length;
  }
  return { bytes: Buffer.from(bytes.subarray(0, length)), starts: starts.slice(0, kept + 1) };
}
