import { sql, type RawBuilder } from "kysely";

/** How many different letters outside of ASCII are found in any case; others only as written. */
const lettersFolded = 40;

/**
 * Whether a value has a text in it, in any case of letters. `lower()` of SQLite, and of PostgreSQL
 * for columns in the collation C, changes ASCII letters only. So each other letter of the text is
 * replaced in the value by its small form: letters that the text does not have need none.
 */
export function contains(value: RawBuilder<unknown>, text: string): RawBuilder<boolean> {
  // Names are stored in this form.
  const letters = Array.from(text.normalize("NFC"));
  const forms = new Map(letters.flatMap((letter) => otherForms(letter)).slice(0, lettersFolded));
  const folded = [...forms].reduce(
    (inner, [form, small]) => sql`replace(${inner}, ${form}, ${small})`,
    sql`lower(${value})`,
  );
  const wanted = letters.map((letter) => forms.get(letter) ?? asciiLower(letter)).join("");
  return sql<boolean>`instr(${folded}, ${wanted}) > 0`;
}

/** The forms of a letter outside of ASCII that are not its small one, each with the small one. */
function otherForms(letter: string): [form: string, small: string][] {
  const small = letter.toLowerCase();
  if (letter <= "\u007f" || !isOne(small)) return [];
  const forms = [letter, small.toUpperCase()].filter((form) => form !== small && isOne(form));
  return forms.map((form) => [form, small]);
}

/** Such as not the capital form of ß, which is SS. */
const isOne = (text: string): boolean => Array.from(text).length === 1;

const asciiLower = (letter: string): string =>
  /^[A-Z]$/.test(letter) ? letter.toLowerCase() : letter;
