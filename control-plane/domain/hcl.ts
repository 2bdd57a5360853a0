/** Writes terraform's language, formatted as `terraform fmt` formats it. */

/** A line as it stands: an expression, not text. */
export class Raw {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}
export const raw = (text: string): Raw => new Raw(text);

export type Value = string | boolean | Raw | readonly string[] | { readonly [key: string]: string };

/** An attribute, a block inside, a comment or, as an empty string, an empty line. */
export type Entry =
  | readonly [name: string, value: Value]
  | { readonly block: string; readonly entries: readonly Entry[] }
  | string;

/** Each on a line of its own, as a set for `for_each`. */
export const setOf = (values: readonly string[]): string =>
  values.length <= 1
    ? `toset([${values.map(quoted).join("")}])`
    : `toset([\n${values.map((one) => `    ${quoted(one)},\n`).join("")}  ])`;

export const when = (is: boolean, ...entries: Entry[]): Entry[] => (is ? entries : []);

/** `head`: such as `resource "a" "b"`. */
export const block = (head: string, entries: readonly Entry[]): string =>
  linesOf(head, entries, "").join("\n");

/** Text in quotes, in which nothing is an expression. */
export const quoted = (text: string): string =>
  JSON.stringify(text).replaceAll("${", "$${").replaceAll("%{", "%%{");

const isOneLine = (value: Value): boolean =>
  typeof value !== "object" || value instanceof Raw || (Array.isArray(value) && value.length <= 1);

function linesOf(head: string, entries: readonly Entry[], indent: string): string[] {
  const inner = `${indent}  `;
  const body = entries.flatMap((entry, index) => {
    if (typeof entry === "string") return [entry === "" ? "" : `${inner}# ${entry}`];
    if (!isAttribute(entry)) return linesOf(entry.block, entry.entries, inner);
    const [name, value] = entry;
    const width = isOneLine(value) ? widthAround(entries, index) : name.length;
    return attribute(`${inner}${name.padEnd(width)}`, value, inner);
  });
  return [`${indent}${head} {`, ...body, `${indent}}`];
}

const isAttribute = (entry: Entry | undefined): entry is readonly [string, Value] =>
  Array.isArray(entry);

/** The longest name of the lines without a gap around this one, whose signs stand below each other. */
function widthAround(entries: readonly Entry[], index: number): number {
  const fits = (entry: Entry | undefined) => isAttribute(entry) && isOneLine(entry[1]);
  let [from, to] = [index, index];
  while (fits(entries[from - 1])) from -= 1;
  while (fits(entries[to + 1])) to += 1;
  return Math.max(
    ...entries.slice(from, to + 1).map((entry) => (isAttribute(entry) ? entry[0].length : 0)),
  );
}

function attribute(head: string, value: Value, indent: string): string[] {
  if (value instanceof Raw) return [`${head} = ${value.text}`];
  if (typeof value === "string") return [`${head} = ${quoted(value)}`];
  if (typeof value === "boolean") return [`${head} = ${value}`];
  if (isList(value)) {
    if (value.length <= 1) return [`${head} = [${value.map(quoted).join("")}]`];
    return [`${head} = [`, ...value.map((one) => `${indent}  ${quoted(one)},`), `${indent}]`];
  }
  const width = Math.max(...Object.keys(value).map((key) => keyOf(key).length));
  const lines = Object.entries(value).map(
    ([key, text]) => `${indent}  ${keyOf(key).padEnd(width)} = ${quoted(text)}`,
  );
  return [`${head} = {`, ...lines, `${indent}}`];
}

const isList = (value: Value): value is readonly string[] => Array.isArray(value);

const keyOf = (key: string): string => (/^[a-z_]\w*$/i.test(key) ? key : quoted(key));
