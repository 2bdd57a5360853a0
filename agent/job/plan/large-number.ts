/** Numbers of a plan that JavaScript cannot hold, such as ids of 19 digits. */
import { exactNumber } from "../../../common/exact-json.ts";

const digits = Symbol("digits");

/** Such a number. Two are equal if their digits are; as JSON, it is a text of them. */
export class LargeNumber {
  /** A symbol, so that the number has no parts. */
  readonly [digits]: string;

  constructor(text: string) {
    this[digits] = text;
  }

  toJSON(): string {
    return this[digits];
  }
}

export function parseNumber(text: string): number | LargeNumber {
  const value = exactNumber(text);
  return typeof value === "string" ? new LargeNumber(value) : value;
}

/** Returns the value with texts in place of such numbers in it. */
export function withoutLargeNumbers(value: unknown): unknown {
  if (value instanceof LargeNumber) return value.toJSON();
  if (Array.isArray(value)) return value.map(withoutLargeNumbers);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, withoutLargeNumbers(inner)]),
  );
}
