/**
 * Ids are stored in lower case and accepted in any case; names are stored in Unicode's composed
 * form and accepted in any, because all forms look the same. Both are converted once, where a
 * request comes in.
 */
import type { TSchema } from "typebox";

export type Normalize = (value: unknown) => unknown;

/** The parts of a JSON schema by which ids and names are found. */
interface Shape {
  readonly format?: string;
  readonly "x-unicode-form"?: string;
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
}

/** The function changes the objects in place. */
export const normalizerFor = (schema: TSchema | undefined): Normalize =>
  normalizerOf(schema ?? {}) ?? ((value) => value);

function normalizerOf(shape: Shape): Normalize | undefined {
  const { format, items, properties } = shape;
  if (format === "uuid") return ofText((id) => id.toLowerCase());
  if (shape["x-unicode-form"] === "NFC") return ofText((name) => name.normalize("NFC"));
  const each = items && normalizerOf(items);
  if (each) return (value) => (Array.isArray(value) ? value.map(each) : value);
  const fields = Object.entries(properties ?? {}).flatMap(([name, shape]) => {
    const normalize = normalizerOf(shape);
    return normalize ? [[name, normalize] as const] : [];
  });
  if (fields.length === 0) return undefined;
  return (value) => {
    if (typeof value !== "object" || value === null) return value;
    const object = value as Record<string, unknown>;
    for (const [name, normalize] of fields)
      if (Object.hasOwn(object, name)) object[name] = normalize(object[name]);
    return object;
  };
}

const ofText =
  (normalize: (text: string) => string): Normalize =>
  (value) =>
    typeof value === "string" ? normalize(value) : value;
