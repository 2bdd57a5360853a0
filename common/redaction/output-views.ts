/**
 * The views of output in which secrets are searched: unchanged; without line breaks, for base64 and
 * hex over several lines; with runs of white space as one blank, for text that terraform wraps. A
 * break includes the next line's margin: blanks, and terraform's bar beside errors with its colour.
 */

/** The bytes of a view, and the place of each in the output. */
export interface View {
  readonly bytes: Buffer;
  placeOf(index: number): number;
}

const [tab, newline, carriageReturn, escape, blank] = [0x09, 0x0a, 0x0d, 0x1b, 0x20];
const [bar, boxBar] = [0x7c, Buffer.from("│")];
const marginLimit = 48;
const whiteSpaceLimit = 128;

/** The bytes that a pattern may take in a view: lines of at least 16 characters and margins. */
export function extentOf(length: number): number {
  return length + Math.ceil(length / 16) * (2 + marginLimit);
}

export function asItIs(bytes: Buffer): View {
  return { bytes, placeOf: (index) => index };
}

/** Leaves out one of several breaks in a row: an empty line ends the text before it. */
export function withoutBreaks(bytes: Buffer): View {
  const view = joined.start(bytes);
  let from = 0;
  for (let at = lineEnd(bytes, 0); at < bytes.length; at = lineEnd(bytes, from + 1)) {
    view.copy(from, at);
    // The byte after a break stays, even if it begins another break.
    from = breakEnd(bytes, at);
  }
  view.copy(from, bytes.length);
  return view.finish();
}

/** The view with one blank for every run of blanks, tabs and line breaks. */
export function withSingleBlanks(bytes: Buffer): View {
  const view = collapsed.start(bytes);
  let from = 0;
  for (let at = 0; at < bytes.length; at++) {
    if (isWhiteSpace[bytes[at] as number] === 0) continue;
    const end = whiteSpaceEnd(bytes, at);
    if (end === at || (end === at + 1 && bytes[at] === blank)) continue;
    view.copy(from, at);
    view.add(blank, at);
    from = end;
    at = end - 1;
  }
  view.copy(from, bytes.length);
  return view.finish();
}

const isWhiteSpace = new Uint8Array(256);
for (const byte of [blank, tab, newline, carriageReturn]) isWhiteSpace[byte] = 1;

/** Returns the next newline or carriage return. */
function lineEnd(bytes: Buffer, from: number): number {
  const at = bytes.indexOf(newline, from);
  const end = at < 0 ? bytes.length : at;
  // A carriage return counts only before a newline, or at the very end.
  return end > from && bytes[end - 1] === carriageReturn ? end - 1 : end;
}

function whiteSpaceEnd(bytes: Buffer, start: number): number {
  const limit = Math.min(bytes.length, start + whiteSpaceLimit);
  let end = start;
  while (end < limit) {
    const byte = bytes[end];
    if (byte === blank || byte === tab) end++;
    else {
      const after = breakEnd(bytes, end);
      if (after === end) break;
      end = after;
    }
  }
  return end;
}

/** Returns the first byte after the line break that begins here, or the same place if none does. */
function breakEnd(bytes: Buffer, start: number): number {
  let end = start;
  if (bytes[end] === carriageReturn) {
    // At the very end, a line break may still follow.
    if (end + 1 === bytes.length) return bytes.length;
    end++;
  }
  if (bytes[end] !== newline) return start;
  const limit = Math.min(bytes.length, end + 1 + marginLimit);
  for (end++; end < limit;) {
    const after = marginEnd(bytes, end);
    if (after === end) break;
    end = after;
  }
  return end;
}

/** Returns the first byte after a blank, a bar or a colour, or the same place if there is none. */
function marginEnd(bytes: Buffer, start: number): number {
  const byte = bytes[start];
  if (byte === blank || byte === tab || byte === bar) return start + 1;
  if (byte === escape) return colourEnd(bytes, start);
  if (byte !== boxBar[0]) return start;
  // At the very end, the start of the bar may still become one.
  const end = Math.min(bytes.length, start + boxBar.length);
  return boxBar.compare(bytes, start, end, 0, end - start) === 0 ? end : start;
}

/** After `ESC [ 31 m` and the like, or the end of the bytes if it may still become one. */
function colourEnd(bytes: Buffer, start: number): number {
  let end = start + 1;
  if (end === bytes.length) return end;
  if (bytes[end++] !== 0x5b) return start;
  const limit = Math.min(bytes.length, start + 16);
  while (end < limit && isColourParameter(bytes[end] as number)) end++;
  if (end === bytes.length) return end;
  return bytes[end] === 0x6d ? end + 1 : start;
}

const isColourParameter = (byte: number): boolean =>
  (byte >= 0x30 && byte <= 0x39) || byte === 0x3b;

/** Memory of a view, used again for the next output: all work on a view is synchronous. */
class ViewMemory {
  #source: Buffer = Buffer.alloc(0);
  #bytes = Buffer.alloc(0);
  #length = 0;
  /** Where each stretch of the view starts, and its distance from the place in the output. */
  #starts: number[] = [];
  #shifts: number[] = [];

  start(source: Buffer): this {
    this.#source = source;
    if (this.#bytes.length < source.length) this.#bytes = Buffer.allocUnsafeSlow(source.length);
    this.#length = 0;
    this.#starts = [];
    this.#shifts = [];
    return this;
  }

  copy(from: number, to: number): void {
    if (from >= to) return;
    this.#stretch(from);
    this.#length += this.#source.copy(this.#bytes, this.#length, from, to);
  }

  add(byte: number, place: number): void {
    this.#stretch(place);
    this.#bytes[this.#length++] = byte;
  }

  finish(): View {
    const starts = this.#starts;
    const shifts = this.#shifts;
    return {
      bytes: this.#bytes.subarray(0, this.#length),
      placeOf(index) {
        let low = 0;
        let high = starts.length;
        while (high - low > 1) {
          const middle = (low + high) >>> 1;
          if ((starts[middle] as number) <= index) low = middle;
          else high = middle;
        }
        return index + (shifts[low] ?? 0);
      },
    };
  }

  #stretch(place: number): void {
    const shift = place - this.#length;
    if (this.#shifts.at(-1) === shift) return;
    this.#starts.push(this.#length);
    this.#shifts.push(shift);
  }
}

const joined = new ViewMemory();
const collapsed = new ViewMemory();
