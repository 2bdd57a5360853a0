/** Returns every text and number in a JSON value: what is masked of a sensitive one. */
export function texts(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value === "number") return [String(value)];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(texts) : [];
}
