/**
 * How the store's SQL and values are spelled for PostgreSQL. Statements are written once, in
 * SQLite's spelling; functions that PostgreSQL lacks are part of its schema
 * (migrations/postgres/functions.ts).
 */

/** What PostgreSQL spells differently. It chooses indexes itself and knows no hints. */
const spellings: readonly (readonly [sqlite: RegExp, postgres: string])[] = [
  [/ indexed by "?\w+"?/g, ""],
  [/\bjson_object\(/g, "json_build_object("],
  // Else it may join the list with all rows.
  [
    /(?<!\bnot )\bin \(select value from json_each\((\$\d+)\)\)/g,
    "= any(array(select value from json_values($1)))",
  ],
  [/\bjson_each\(/g, "json_values("],
  [/\boctet_length\(/g, "text_bytes("],
];

export const postgresText = (sql: string): string =>
  spellings.reduce((text, [sqlite, postgres]) => text.replaceAll(sqlite, postgres), sql);

/**
 * PostgreSQL's text holds every character except U+0000, which log lines may contain. So a NUL is
 * stored as this character and a `0`, the character itself as this character and a `1`. Removing
 * the character leaves as many bytes as the text really has; `text_bytes` counts them that way.
 */
const escape = "\u001a";

// oxlint-disable-next-line no-control-regex -- the two characters are the subject
const special = /[\u0000\u001a]/g;
// oxlint-disable-next-line no-control-regex
const escaped = /\u001a([01])/g;

export const encodeText = (text: string): string =>
  text.search(special) >= 0
    ? text.replaceAll(special, (found) => escape + (found === escape ? "1" : "0"))
    : text;

export const decodeText = (text: string): string =>
  text.includes(escape)
    ? text.replaceAll(escaped, (_, kind: string) => (kind === "1" ? escape : "\u0000"))
    : text;
