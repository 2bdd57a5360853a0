/** Formats values as terraform prints them. */
import { plainJson } from "../../common/exact-json.ts";

/** What stands in place of a sensitive value. */
export const hidden = "(sensitive)";

/** Returns a value of a state as terraform writes it, on several lines if it has parts. */
export const stateValue = (value: unknown): string => hclValue(value, "", true);

/** Formats a value without types beside it; `indent` stands before its end. */
export function hclValue(value: unknown, indent: string, isState = false): string {
  if (isState && value === hidden) return hidden;
  if (typeof value !== "object" || value === null) return plainJson(value);
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return `[\n${value.map((one) => `${inner}${hclValue(one, inner, isState)},\n`).join("")}${indent}]`;
  }
  if (isState && isDynamic(value)) return hclValue(value.value, indent, true);
  const entries = Object.entries(value);
  if (entries.length === 0) return "{}";
  const keys = entries.map(([key]) => (/^[A-Za-z_][\w-]*$/.test(key) ? key : JSON.stringify(key)));
  const width = Math.max(...keys.map((key) => key.length));
  const lines = entries.map(
    ([, one], at) =>
      `${inner}${(keys[at] ?? "").padEnd(width)} = ${hclValue(one, inner, isState)}\n`,
  );
  return `{\n${lines.join("")}${indent}}`;
}

/** An attribute of dynamic type, such as the input of a terraform_data, has its type beside it. */
export function isDynamic(value: object): value is { type: unknown; value: unknown } {
  if (Object.keys(value).toSorted().join() !== "type,value") return false;
  const { type } = value as { type: unknown };
  return Array.isArray(type) || ["string", "number", "bool", "dynamic"].includes(String(type));
}
