/**
 * Replaces the serial of a terraform state and keeps every other byte, because the state may
 * contain numbers that are longer than a double.
 */
import { RefusalError } from "./refusal.ts";

/** Returns the same document with this serial. */
export function withSerial(state: Buffer, serial: number): Buffer {
  const { start, end } = findSerial(state);
  return Buffer.concat([
    state.subarray(0, start),
    Buffer.from(String(serial)),
    state.subarray(end),
  ]);
}

const [quote, backslash, colon] = [0x22, 0x5c, 0x3a];
const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
const isDigit = (byte: number | undefined): boolean =>
  byte !== undefined && byte >= 0x30 && byte <= 0x39;

/**
 * Returns the place of the digits of the outermost `serial`. The text is valid JSON: it was read as
 * a state before.
 */
function findSerial(text: Buffer): { start: number; end: number } {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at];
    if (byte === 0x7b || byte === 0x5b) depth += 1;
    else if (byte === 0x7d || byte === 0x5d) depth -= 1;
    else if (byte === quote) {
      const end = endOfString(text, at);
      let next = end + 1;
      while (isSpace(text[next])) next += 1;
      const isKey = depth === 1 && text[next] === colon;
      if (isKey && text.toString("latin1", at + 1, end) === "serial") return digits(text, next + 1);
      at = end;
    }
  }
  throw unreadable();
}

function endOfString(text: Buffer, quoteAt: number): number {
  let at = quoteAt + 1;
  while (at < text.length && text[at] !== quote) at += text[at] === backslash ? 2 : 1;
  return at;
}

function digits(text: Buffer, at: number): { start: number; end: number } {
  let start = at;
  while (isSpace(text[start])) start += 1;
  let end = start;
  while (isDigit(text[end])) end += 1;
  if (end === start) throw unreadable();
  return { start, end };
}

const unreadable = (): RefusalError =>
  new RefusalError("state_conflict", "the serial of this version cannot be found");
