/** In which shapes a secret turns up in output. Pure. */

/**
 * A secret shorter than this is not masked. Values such as `1`, `true` or `admin` stand in any log by chance: masking each would
 * make the log unreadable, tell the value by where the stars are, and protect nothing, because so short a value is guessed.
 */
const shortestSecret = 6;

/** Longer forms are masked piece by piece, so that the bytes held back behind a cut stay few whatever the secret. */
const longestPattern = 4096;

export interface Patterns {
  /** Stand in output as they are. */
  readonly plain: readonly Buffer[];
  /** Base64, which may be broken over lines. */
  readonly base64: readonly Buffer[];
}

/** Byte patterns of all forms of all secrets, without doubles. */
export function patternsOf(secrets: readonly string[]): Patterns {
  const texts = secrets
    // A secret read from a file often ends in a newline that is not printed with it.
    .flatMap((secret) => [secret, secret.trim()])
    .filter((secret) => Buffer.byteLength(secret) >= shortestSecret)
    .flatMap((secret) => [secret, ...linesOf(secret)]);
  const patterns = (formsOf: (text: string) => string[]): Buffer[] =>
    [...new Set(texts.flatMap(formsOf))].map((form) => Buffer.from(form)).flatMap(piecesOf);
  return {
    plain: patterns((text) => [text, ...jsonForms(text), ...urlForms(text.toWellFormed())]),
    base64: patterns((text) => base64Forms(Buffer.from(text))),
  };
}

/** Terraform indents what has several lines, so key material is found line by line too. */
function linesOf(secret: string): string[] {
  const lines = secret.split("\n").map((line) => line.trim());
  return lines.length < 2 ? [] : lines.filter((line) => line.length >= 16);
}

/**
 * Base64 of a text that contains the secret shows it in one of three ways, as the secret starts at a byte 0, 1 or 2 of a group of
 * three. Characters that also depend on the bytes before or after are left off.
 */
function base64Forms(secret: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), secret]).toString("base64");
    const first = Math.ceil((before * 8) / 6);
    const end = Math.floor(((before + secret.length) * 8) / 6);
    const form = encoded.slice(first, end);
    return [form, form.replaceAll("+", "-").replaceAll("/", "_")];
  });
}

/** As JavaScript writes a JSON string, and as Go does, which escapes `<`, `>` and `&` too. */
function jsonForms(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const go = json.replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return [json, go];
}

/** As `encodeURIComponent`, and as Go's and a form's stricter escaping with `+` or `%20` for a blank. */
function urlForms(secret: string): string[] {
  const lenient = encodeURIComponent(secret);
  const strict = lenient.replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return [lenient, strict, strict.replaceAll("%20", "+")];
}

function piecesOf(pattern: Buffer): Buffer[] {
  if (pattern.length <= longestPattern) return [pattern];
  const pieces: Buffer[] = [];
  for (let start = 0; start + longestPattern < pattern.length; start += longestPattern) {
    pieces.push(pattern.subarray(start, start + longestPattern));
  }
  // The last one overlaps the one before it, so that no piece is too short to be told from ordinary text.
  pieces.push(pattern.subarray(pattern.length - longestPattern));
  return pieces;
}
