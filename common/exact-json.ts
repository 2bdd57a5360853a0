/** JSON with numbers that JavaScript would round, such as ids of 19 digits: they stay text. */

/** A number that would lose digits becomes a text with all of them, which `onText` gets. */
export const parseExactly = (json: string, onText?: (text: string) => void): unknown =>
  JSON.parse(json, (_, value: unknown, context?: { source?: string }) => {
    if (typeof value !== "number") return value;
    const exact = exactNumber(context?.source ?? String(value));
    if (typeof exact === "string") onText?.(exact);
    return exact;
  });

/** Returns the number that the text of JSON is, or the text if the number would lose digits. */
export function exactNumber(text: string): number | string {
  const value = Number(text);
  if (text.length <= safeLength && !/e/i.test(text)) return value;
  return significant(text) === significant(String(value)) ? value : text;
}

/** So many digits are always kept. */
const safeLength = 15;

/** The digits from the first to the last one that is not 0. The exponent follows from the value. */
const significant = (text: string): string =>
  text.replace(/e.*$/i, "").replaceAll(/[-.]/g, "").replace(/^0+/, "").replace(/0+$/, "");

/** Returns a value as JSON whose numbers have all digits and no exponent, as terraform prints them. */
export const plainJson = (value: unknown, indent = 0): string =>
  JSON.stringify(
    value,
    (_, inner: unknown) => (typeof inner === "number" ? rawJson(plainNumber(inner)) : inner),
    indent,
  );

/** Not in the types yet. */
const { rawJSON: rawJson } = JSON as unknown as { rawJSON(text: string): unknown };

/** The text of a number is the shortest that means it, so zeros take the place of the exponent. */
function plainNumber(value: number): string {
  const [, sign = "", whole = "", fraction = "", exponent] =
    /^(-?)(\d+)(?:\.(\d+))?e([+-]\d+)$/.exec(String(value)) ?? [];
  if (exponent === undefined) return String(value);
  const digits = whole + fraction;
  const point = whole.length + Number(exponent);
  if (point <= 0) return `${sign}0.${"0".repeat(-point)}${digits}`;
  return sign + digits.padEnd(point, "0");
}
