/** The forms in which a secret may appear in output. Pure. */
import { kibibyte } from "../units.ts";

/**
 * Shorter ones, such as `1` or `admin`, appear in any log: masking would make it unreadable,
 * disclose the value by its places, and protect nothing that cannot be guessed.
 */
export const shortestSecret = 6;

/** A longer one is masked in pieces, so that few bytes are held back after a cut. */
const pieceLength = 1024;
/** Larger ones only as tools give a whole file: keys are smaller, and memory is limited. */
const largeSecret = 64 * kibibyte;
/** Characters of all secrets of which rare forms are searched: these take 100 bytes for each. */
const rareFormsLimit = 256 * kibibyte;
/** A secret with more lines is masked as a whole and by its longer lines. */
const manyLines = 10_000;
const longLine = 16;

/** What to search in each view of the output. */
export interface SecretForms {
  /** In the unchanged bytes. */
  readonly plain: () => Iterable<Buffer>;
  /** In the bytes without line breaks: base64 and hex. */
  readonly encoded: () => Iterable<Buffer>;
  /** In the bytes with single blanks: forms that contain a blank or a line break. */
  readonly spaced: () => Iterable<Buffer>;
}

/** One at a time, because together they can be many times as large as the secrets. */
export function formsOf(secrets: readonly string[], rareLimit = rareFormsLimit): SecretForms {
  // A secret read from a file often ends in a newline that is not printed with it; terraform prints
  // text in Unicode's composed form (NFC), and file systems of macOS in the decomposed one.
  const given = secrets.flatMap((secret) => [secret, secret.trim()]);
  const texts = [
    ...new Set(given.flatMap((text) => [text, text.normalize("NFC"), text.normalize("NFD")])),
  ].filter((text) => Buffer.byteLength(text) >= shortestSecret);
  const plain = function* (): Iterable<string> {
    let room = rareLimit;
    for (const text of texts) {
      const isLarge = text.length > largeSecret;
      if (!isLarge) room -= text.length;
      const forms = room >= 0 ? allForms : textForms;
      for (const piece of piecesOf(text)) yield* isLarge ? jsonForms(piece) : forms(piece);
      for (const line of linesOf(text)) {
        for (const piece of piecesOf(line)) yield* isLarge ? [piece] : forms(piece);
      }
    }
  };
  return {
    *plain() {
      for (const form of plain()) yield Buffer.from(form);
    },
    *encoded() {
      for (const text of texts) {
        const isLarge = text.length > largeSecret;
        const parts = isLarge ? piecesOf(text) : [...piecesOf(text), ...linesOf(text)];
        for (const part of parts) yield* encodedForms(Buffer.from(part), isLarge);
      }
    },
    *spaced() {
      for (const form of plain()) {
        if (/\s/.test(form)) yield Buffer.from(form.trim().replaceAll(/\s+/g, " "));
      }
    },
  };
}

/** Each line takes about 40 µs (a tenth in a large text), in which the agent does nothing else. */
export const secretLinesLimit = 10_000;

/** Returns the first texts that together have no more lines than can be searched. */
export function withinLimit(secrets: readonly string[]): string[] {
  let room = secretLinesLimit;
  return secrets.filter((text) => {
    const lines = text.split("\n").length;
    room -= text.length > largeSecret ? lines / 8 : lines;
    return room >= 0;
  });
}

/** Terraform indents values of several lines, so keys are searched line by line too. */
function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.length < 2) return [];
  const shortest = lines.length > manyLines ? longLine : shortestSecret;
  return [...new Set(lines.map((line) => line.trim()))].filter(
    (line) => Buffer.byteLength(line) >= shortest,
  );
}

/** Between characters. The last piece overlaps, so that none looks like ordinary text. */
function* piecesOf(text: string): Iterable<string> {
  for (let start = 0; start < text.length;) {
    const isLast = start + pieceLength >= text.length;
    const from = isLast ? Math.max(0, text.length - pieceLength) : start;
    const end = isLast ? text.length : start + pieceLength;
    const piece = text.slice(
      isTrail(text, from) ? from - 1 : from,
      isTrail(text, end) ? end - 1 : end,
    );
    yield piece;
    start = isLast ? end : isTrail(text, end) ? end - 1 : end;
  }
}

/** The second half of a character that JavaScript stores as two. */
const isTrail = (text: string, at: number): boolean =>
  at > 0 && at < text.length && (text.codePointAt(at - 1) ?? 0) > 0xffff;

/** Escaped nowhere, so all forms are the same. */
const isPlain = (text: string): boolean => /^[A-Za-z0-9_.~-]*$/.test(text);

function* allForms(text: string): Iterable<string> {
  yield* textForms(text);
  if (isPlain(text)) return;
  const json = new Set([...jsonForms(text)].flatMap((form) => [form, ...asciiForms(form)]));
  yield* json;
  yield* nestedForms(text, json);
  for (const form of urlForms(text.toWellFormed()))
    yield form.replace(/%[0-9A-F]{2}/g, (byte) => byte.toLowerCase());
}

function* textForms(text: string): Iterable<string> {
  if (isPlain(text)) return yield text;
  yield* jsonForms(text);
  yield* urlForms(text.toWellFormed());
  yield* xmlForms(text);
}

/** Unchanged, as JavaScript writes JSON, and as Go does, which escapes `<`, `>` and `&` too. */
function jsonForms(text: string): Set<string> {
  const json = JSON.stringify(text).slice(1, -1);
  const go = json.replace(/[<>&\u2028\u2029]/g, (unit) => `\\u${hexOf(unit)}`);
  return new Set([text, json, go]);
}

/** As programs write JSON in ASCII, in either case: `\\u00e4` and `\\u00E4`. */
const asciiForms = (json: string): string[] => [
  json.replace(notAscii, (unit) => `\\u${hexOf(unit)}`),
  json.replace(notAscii, (unit) => `\\u${hexOf(unit).toUpperCase()}`),
];

// eslint-disable-next-line no-control-regex -- ASCII begins with control characters
const notAscii = /[^\u0000-\u007f]/g;

const hexOf = (unit: string): string => unit.charCodeAt(0).toString(16).padStart(4, "0");

/** As JSON in a text of JSON, such as a policy in a plan. */
const nestedForms = (text: string, json: ReadonlySet<string>): string[] =>
  [...json]
    .filter((form) => form !== text && /["\\]/.test(form))
    .map((form) => form.replace(/["\\]/g, "\\$&"));

/** As `encodeURIComponent`, and as Go and forms escape, with `+` or `%20` for a blank. */
function urlForms(text: string): Set<string> {
  const lenient = encodeURIComponent(text);
  const strict = lenient.replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return new Set([lenient, strict, strict.replaceAll("%20", "+")]);
}

/** As in XML and HTML, with three ways to write quotes: providers log bodies of SOAP. */
function xmlForms(text: string): Set<string> {
  const plain = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const quoted = (double: string, single: string): string =>
    plain.replaceAll('"', double).replaceAll("'", single);
  return new Set([plain, quoted("&quot;", "&apos;"), quoted("&#34;", "&#39;")]);
}

/**
 * Three forms, as the secret starts at byte 0, 1 or 2 of a group of three, without the characters
 * that depend on the bytes beside it.
 */
function* encodedForms(secret: Buffer, isLarge: boolean): Iterable<Buffer> {
  for (const before of [0, 1, 2]) {
    const encoded = Buffer.concat([Buffer.alloc(before), secret]).toString("base64");
    const first = Math.ceil((before * 8) / 6);
    const end = Math.floor(((before + secret.length) * 8) / 6);
    const form = encoded.slice(first, end);
    yield Buffer.from(form);
    if (!isLarge) yield Buffer.from(form.replaceAll("+", "-").replaceAll("/", "_"));
  }
  if (isLarge) return;
  const hex = secret.toString("hex");
  yield Buffer.from(hex);
  yield Buffer.from(hex.toUpperCase());
}
