/** Measures JSON in one pass over the bytes, before it is parsed, and builds nothing. */

export interface JsonLimits {
  /** Lists and maps inside each other. */
  readonly levels: number;
  /** Members of maps, and entries of lists, together. */
  readonly values: number;
}

/** Undefined if no limit is exceeded. The parser reports malformed text. */
export function findExcess(json: Buffer, { levels, values }: JsonLimits): string | undefined {
  // Each level and each value takes a byte.
  if (json.length <= Math.min(levels, values)) return undefined;
  let level = 0;
  let count = 0;
  for (let at = 0; at < json.length; at += 1) {
    switch (json[at]) {
      case quote:
        at = endOfString(json, at);
        break;
      case openList:
      case openMap:
        count += 1;
        level += 1;
        if (level > levels) return `lists and maps are nested more than ${levels} levels deep`;
        break;
      case closeList:
      case closeMap:
        level -= 1;
        break;
      case comma:
        count += 1;
        break;
      default:
        continue;
    }
    if (count > values) return `it has more than ${values.toLocaleString("en")} values`;
  }
  return undefined;
}

/** Replaces every list and map in a map by null. */
export function withoutParts(json: Buffer): string {
  const kept: Buffer[] = [];
  let level = 0;
  let from = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === quote) at = endOfString(json, at);
    else if (byte === openList || byte === openMap) {
      level += 1;
      if (level === 2) kept.push(json.subarray(from, at), nothing);
    } else if (byte === closeList || byte === closeMap) {
      level -= 1;
      if (level === 1) from = at + 1;
    }
  }
  kept.push(json.subarray(from));
  return Buffer.concat(kept).toString();
}

const nothing = Buffer.from("null");
const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openList, closeList, openMap, closeMap] = [0x5b, 0x5d, 0x7b, 0x7d];

/** The end of the text if the string does not end. */
function endOfString(json: Buffer, at: number): number {
  let next = at + 1;
  while (next < json.length) {
    // The end of a short string is found sooner byte by byte.
    for (const near = Math.min(next + nearBytes, json.length); next < near; next += 1) {
      const byte = json[next];
      if (byte === quote) return next;
      if (byte === backslash) next += 1;
    }
    const end = json.indexOf(quote, next);
    if (end === -1) return json.length;
    let before = end;
    while (before > next && json[before - 1] === backslash) before -= 1;
    // An even number of backslashes are half as many characters; an odd one escapes the quote.
    if ((end - before) % 2 === 0) return end;
    next = end + 1;
  }
  return json.length;
}

/** A call of `indexOf` costs about as much as looking at this number of bytes. */
const nearBytes = 64;
