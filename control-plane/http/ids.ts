/**
 * Ids are stored in lower case and accepted in any case. They are converted once, where a request
 * comes in.
 */
import type { TSchema } from "typebox";

export type Normalize = (value: unknown) => unknown;

/** The parts of a JSON schema by which ids are found. */
interface Shape {
  readonly format?: string;
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
}

/**
 * Returns a function that converts the ids in a value of this schema to lower case. It changes the
 * objects in place.
 */
export const idsInLowerCase = (schema: TSchema | undefined): Normalize =>
  normalizerOf(schema ?? {}) ?? ((value) => value);

function normalizerOf({ format, items, properties }: Shape): Normalize | undefined {
  if (format === "uuid")
    return (value) => (typeof value === "string" ? value.toLowerCase() : value);
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
