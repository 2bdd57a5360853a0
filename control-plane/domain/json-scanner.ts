/**
 * Checks one JSON map while its bytes pass, and hands out what its first level holds, and what the
 * entries of its lists hold. It builds nothing, so whatever the map holds, it needs the same memory
 * and about 20 ns for each byte. A parser that builds tokens needs 500 ns, and keeps a long number
 * as text of twenty times its size.
 */

export interface JsonListener {
  /** A member of the map that is no list and no map: its JSON, undefined if that is long. */
  onPlain(name: string, json: string | undefined): void;
  /** A member of the map that is a list or a map begins. */
  onPart(name: string): void;
  /** The list or map that began last in the outermost map has ended. */
  onPartEnd?(): void;
  /** An entry begins in a list that is a member of the map. */
  onEntry(): void;
  /** For an entry that is a map: its plain members, its lists and maps, their entries. */
  readonly entry?: JsonListener;
}

/** The bytes are no JSON map, or one that is too deep. */
export class JsonScanError extends Error {
  override readonly name = "JsonScanError";
}

/** Names and plain members are handed out up to this many bytes. */
const textLimit = 4096;

/** What may come next. */
type Expected = "map" | "first name" | "name" | "colon" | "first entry" | "value" | "next" | "end";
/** A place in a number: what its last byte was. */
type Place = "minus" | "zero" | "integer" | "point" | "fraction" | "e" | "e sign" | "exponent";
/** What the next byte belongs to. */
type Token = "none" | "text" | "escape" | "hex" | "word" | Place;

/** `push` takes bytes in any pieces and throws JsonScanError; `isEnded`: the map is complete. */
export class JsonScanner {
  readonly #listener: JsonListener;
  /** The listener of the map whose members come now. */
  #current: JsonListener | undefined;
  readonly #levels: number;
  /** One byte for each level: 1 for a map, 0 for a list. */
  readonly #maps: Uint8Array;
  #level = 0;
  #expected: Expected = "map";
  #token: Token = "none";
  #isName = false;
  /** What is still to come of `true`, `false` or `null`. */
  #word = "";
  /** How many digits are still to come of an escape. */
  #digits = 0;
  /** The bytes of a token that is handed out. */
  readonly #kept = Buffer.alloc(textLimit);
  #length = 0;
  /** The last name that was handed out: of the map, or of an entry. */
  #name = "";
  #pushed = 0;
  #bracket = 0;
  /** The places of the first and of the last byte of a token. */
  #start = 0;
  #last = 0;

  constructor(listener: JsonListener, levels: number) {
    this.#listener = listener;
    this.#levels = levels;
    this.#maps = new Uint8Array(levels + 1);
  }

  get isEnded(): boolean {
    return this.#expected === "end";
  }

  /** In `onPart` and `onPartEnd`: where in all bytes the list or map begins or ends. */
  get bracket(): number {
    return this.#bracket;
  }

  /** In `onPlain`: where in all bytes the member's JSON is. */
  get plain(): { readonly start: number; readonly end: number } {
    return { start: this.#start, end: this.#last };
  }

  push(bytes: Uint8Array): void {
    let at = 0;
    while (at < bytes.length)
      at = this.#token === "none" ? this.#between(bytes, at) : this.#within(bytes, at);
    this.#pushed += bytes.length;
  }

  /** Reads what belongs to no token, and the first byte of one. */
  #between(bytes: Uint8Array, start: number): number {
    for (let at = start; at < bytes.length; at++) {
      const byte = bytes[at] as number;
      switch (byte) {
        case 0x20:
        case 0x0a:
        case 0x0d:
        case 0x09:
          break;
        case comma:
          if (this.#expected !== "next") throw malformed();
          this.#expected = this.#isInMap() ? "name" : "value";
          break;
        case colon:
          if (this.#expected !== "colon") throw malformed();
          this.#expected = "value";
          break;
        case openMap:
        case openList:
          this.#bracket = this.#pushed + at;
          this.#open(byte === openMap);
          break;
        case closeMap:
        case closeList:
          this.#bracket = this.#pushed + at;
          this.#close(byte === closeMap);
          break;
        default:
          this.#beginToken(byte);
          this.#start = this.#pushed + at;
          this.#length = 0;
          if (this.#current) this.#keep(bytes, at, at + 1);
          return at + 1;
      }
    }
    return bytes.length;
  }

  #isInMap(): boolean {
    return this.#maps[this.#level] === 1;
  }

  #open(isMap: boolean): void {
    if (this.#level > 0) this.#beginValue();
    else if (this.#expected !== "map" || !isMap) throw malformed();
    this.#current?.onPart(this.#name);
    if (this.#level === this.#levels) throw new JsonScanError("it is too deep");
    this.#level++;
    this.#maps[this.#level] = isMap ? 1 : 0;
    this.#current = this.#isInMap() ? this.#listenerAt(this.#level) : undefined;
    this.#expected = isMap ? "first name" : "first entry";
  }

  #close(isMap: boolean): void {
    const isEmpty = this.#expected === (isMap ? "first name" : "first entry");
    if (this.#level === 0 || this.#isInMap() !== isMap || !(isEmpty || this.#expected === "next"))
      throw malformed();
    this.#level--;
    this.#current = this.#isInMap() ? this.#listenerAt(this.#level) : undefined;
    this.#expected = this.#level === 0 ? "end" : "next";
    if (this.#level === 1) this.#listener.onPartEnd?.();
  }

  /** The listener of the members of the map at a level, or of the entries of a list below it. */
  #listenerAt(level: number): JsonListener | undefined {
    if (level === 1) return this.#listener;
    const isEntry = level === 3 && this.#maps[2] === 0 && this.#maps[3] === 1;
    return isEntry ? this.#listener.entry : undefined;
  }

  #beginValue(): void {
    if (this.#expected !== "value" && this.#expected !== "first entry") throw malformed();
    if (!this.#isInMap()) this.#listenerAt(this.#level - 1)?.onEntry();
  }

  #beginToken(byte: number): void {
    this.#isName = this.#expected === "name" || this.#expected === "first name";
    if (!this.#isName) this.#beginValue();
    const token = tokens[byte];
    if (token === undefined || (this.#isName && token !== "text")) throw malformed();
    this.#token = token;
    if (token === "word") this.#word = words[byte] ?? "";
  }

  /** Reads on in a token, at most to its end. */
  #within(bytes: Uint8Array, from: number): number {
    let at = this.#plainEnd(bytes, from);
    let end: End = "later";
    if (at < bytes.length) {
      end = this.#step(bytes[at] as number);
      if (end !== "before") at++;
    }
    if (this.#current) this.#keep(bytes, from, at);
    if (end !== "later") {
      this.#last = this.#pushed + at - 1;
      this.#endToken();
    }
    return at;
  }

  /** Goes past the bytes of which a token may have many. */
  #plainEnd(bytes: Uint8Array, from: number): number {
    switch (this.#token) {
      case "text":
        return textEnd(bytes, from);
      case "integer":
      case "fraction":
      case "exponent":
        return digitsEnd(bytes, from);
      default:
        return from;
    }
  }

  #step(byte: number): End {
    switch (this.#token) {
      case "text":
        if (byte === quote) return "behind";
        if (byte !== backslash) throw malformed();
        this.#token = "escape";
        return "later";
      case "escape":
        if (isEscaped[byte] !== true) throw malformed();
        this.#token = byte === letterU ? "hex" : "text";
        this.#digits = 4;
        return "later";
      case "hex":
        if (isHexDigit[byte] !== true) throw malformed();
        this.#digits--;
        if (this.#digits === 0) this.#token = "text";
        return "later";
      case "word":
        if (byte !== this.#word.charCodeAt(0)) throw malformed();
        this.#word = this.#word.slice(1);
        return this.#word === "" ? "behind" : "later";
      default: {
        const next = places[this.#token as Place][kindOf(byte)];
        if (next === undefined) throw malformed();
        if (next === "end") return "before";
        this.#token = next;
        return "later";
      }
    }
  }

  #endToken(): void {
    this.#token = "none";
    this.#expected = this.#isName ? "colon" : "next";
    if (!this.#current) return;
    const isLong = this.#length > textLimit;
    const json = isLong ? undefined : this.#kept.toString("utf8", 0, this.#length);
    if (!this.#isName) this.#current.onPlain(this.#name, json);
    else this.#name = json === undefined ? "" : (JSON.parse(json) as string);
  }

  #keep(bytes: Uint8Array, from: number, to: number): void {
    const length = this.#length + to - from;
    if (length <= textLimit) this.#kept.set(bytes.subarray(from, to), this.#length);
    this.#length = Math.min(length, textLimit + 1);
  }
}

/** Where a token ends: behind this byte, before it, or later. */
type End = "behind" | "before" | "later";

const malformed = (): JsonScanError => new JsonScanError("it is no valid JSON");

const [quote, backslash, comma, colon, letterU] = [0x22, 0x5c, 0x2c, 0x3a, 0x75];
const [openList, closeList, openMap, closeMap] = [0x5b, 0x5d, 0x7b, 0x7d];
const tableOf = (bytes: string): readonly boolean[] =>
  Array.from({ length: 256 }, (_, byte) => bytes.includes(String.fromCharCode(byte)));
const isEscaped = tableOf('"\\/bfnrtu');
const isHexDigit = tableOf("0123456789abcdefABCDEF");

/** By the first byte of a word, the others. */
const words: Readonly<Record<number, string>> = { 0x74: "rue", 0x66: "alse", 0x6e: "ull" };

/** By its first byte, what a token is. */
const tokens: readonly (Token | undefined)[] = Array.from({ length: 256 }, (_, byte) => {
  if (byte === quote) return "text";
  if (byte in words) return "word";
  if (byte === 0x2d) return "minus";
  const kind = kindOf(byte);
  return kind === "zero" ? "zero" : kind === "digit" ? "integer" : undefined;
});

/** A byte of a number. */
type Kind = "zero" | "digit" | "point" | "e" | "sign" | "other";

function kindOf(byte: number): Kind {
  if (byte === 0x30) return "zero";
  if (byte > 0x30 && byte <= 0x39) return "digit";
  if (byte === 0x2e) return "point";
  if (byte === 0x45 || byte === 0x65) return "e";
  return byte === 0x2b || byte === 0x2d ? "sign" : "other";
}

/** From each place in a number, where a byte leads. */
const places: Readonly<Record<Place, Readonly<Partial<Record<Kind, Place | "end">>>>> = {
  minus: { zero: "zero", digit: "integer" },
  zero: { point: "point", e: "e", other: "end" },
  integer: { zero: "integer", digit: "integer", point: "point", e: "e", other: "end" },
  point: { zero: "fraction", digit: "fraction" },
  fraction: { zero: "fraction", digit: "fraction", e: "e", other: "end" },
  e: { zero: "exponent", digit: "exponent", sign: "e sign" },
  "e sign": { zero: "exponent", digit: "exponent" },
  exponent: { zero: "exponent", digit: "exponent", other: "end" },
};

/** The next quote or backslash. A control character is refused. */
function textEnd(bytes: Uint8Array, start: number): number {
  let at = start;
  while (at < bytes.length) {
    const byte = bytes[at] as number;
    if (byte === quote || byte === backslash) break;
    if (byte < 0x20) throw malformed();
    at++;
  }
  return at;
}

/** The next byte that is no digit. */
function digitsEnd(bytes: Uint8Array, start: number): number {
  let at = start;
  while (at < bytes.length && (bytes[at] as number) >= 0x30 && (bytes[at] as number) <= 0x39) at++;
  return at;
}
