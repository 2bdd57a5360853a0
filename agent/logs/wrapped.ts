/**
 * Base64 that a tool has broken over lines (`base64`, MIME, PEM), found as if it stood on one. A break is a newline and the margin of
 * the next line: blanks, and the bar that terraform draws beside its errors. None of these bytes is base64, so where a break begins and
 * ends does not depend on what stands around it. Pure.
 */

const [newline, carriageReturn] = [0x0a, 0x0d];
/** Blank, tab, `|`, and the bytes of `│`. */
const isMargin = new Uint8Array(256);
for (const byte of Buffer.from(" \t|│")) isMargin[byte] = 1;
const marginLimit = 32;

/** Bytes that a pattern may take up with its breaks: lines of 16 characters or more. */
export function brokenLength({ length }: Buffer): number {
  return length + Math.ceil(length / 16) * (2 + marginLimit);
}

/** Places of the patterns, those that overlap included. */
export function brokenOccurrences(
  patterns: readonly Buffer[],
  bytes: Buffer,
): { start: number; end: number }[] {
  const found: { start: number; end: number }[] = [];
  if (patterns.length === 0) return found;
  const joined = joinLines(bytes);
  for (const pattern of patterns) {
    let at = joined.indexOf(pattern);
    while (at >= 0) {
      const start = places[at] ?? 0;
      const end = (places[at + pattern.length - 1] ?? 0) + 1;
      if (end - start <= brokenLength(pattern)) found.push({ start, end });
      at = joined.indexOf(pattern, at + 1);
    }
  }
  return found;
}

/** Whether the bytes from `start` to their end could be the start of the pattern, but not all of it. */
export function couldBecome(pattern: Buffer, bytes: Buffer, start: number): boolean {
  let at = 0;
  for (let index = start; index < bytes.length; index++) {
    if (at > 0) {
      const after = breakEnd(bytes, index);
      if (after > index) {
        if (after >= bytes.length) return true;
        index = after;
      }
    }
    if (at === pattern.length || pattern[at++] !== bytes[index]) return false;
  }
  return at < pattern.length;
}

/** One buffer for all, as everything here is synchronous: the bytes without breaks, and where each of them stood. */
let joinedBytes = Buffer.alloc(0);
let places = new Uint32Array(0);

function joinLines(bytes: Buffer): Buffer {
  if (joinedBytes.length < bytes.length) {
    joinedBytes = Buffer.allocUnsafeSlow(bytes.length);
    places = new Uint32Array(bytes.length);
  }
  let length = 0;
  for (let index = 0; index < bytes.length; index++) {
    let byte = bytes[index] as number;
    if (byte === newline || byte === carriageReturn) {
      index = breakEnd(bytes, index);
      if (index >= bytes.length) break;
      // Behind one break no second one is left out: an empty line ends what stood before it.
      byte = bytes[index] as number;
    }
    places[length] = index;
    joinedBytes[length++] = byte;
  }
  return joinedBytes.subarray(0, length);
}

/** The first byte behind the break that begins here; the same place when none does. */
function breakEnd(bytes: Buffer, start: number): number {
  let end = start;
  if (bytes[end] === carriageReturn) {
    // At the very end it may yet become one.
    if (end + 1 === bytes.length) return bytes.length;
    end++;
  }
  if (bytes[end] !== newline) return start;
  const limit = Math.min(bytes.length, end + 1 + marginLimit);
  for (end++; end < limit && isMargin[bytes[end] as number] === 1;) end++;
  return end;
}
