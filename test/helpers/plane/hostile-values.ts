/** Seeded values of a JSON Schema: mostly valid, often with one fault, sometimes absurd. */

/** Returns a generator of numbers from 0 to 1 that is determined by its seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** As `seeded`, for whole numbers below the given one. */
export function seededBelow(seed: number): (below: number) => number {
  const random = seeded(seed);
  return (below) => Math.floor(random() * below);
}

/** The part of JSON Schema that the protocol uses. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  /** The schemas of a map's names and values. */
  readonly propertyNames?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly oneOf?: readonly Schema[];
}

export interface Hostile {
  readonly random: () => number;
  pick<T>(values: readonly T[]): T;
  /** True with a chance of 1 in `n`. */
  rarely(n: number): boolean;
  /** A value for this schema. Each part of it is wrong with a chance of 1 in `wrong`. */
  value(schema: Schema, wrong: number): unknown;
  /** A string that may break a parser. */
  text(): string;
}

/** Creates a generator of values that uses these ids where the schema requires an id. */
export function hostile(random: () => number, ids: () => readonly string[]): Hostile {
  const below = (n: number): number => Math.floor(random() * n);
  const pick = <T>(values: readonly T[]): T => values[below(values.length)] as T;
  const rarely = (n: number): boolean => below(n) === 0;
  const text = (): string => pick(texts)();
  const hex = (digits: number): string =>
    Array.from({ length: digits }, () => below(16).toString(16)).join("");
  const uuid = (): string => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`;
  const absurd = (): unknown => pick(absurdities)();
  const value = (schema: Schema, wrong: number): unknown => {
    if (rarely(wrong)) return rarely(2) ? absurd() : text();
    if (schema.const !== undefined) return schema.const;
    if (schema.enum) return pick(schema.enum);
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices) return value(pick(choices), wrong);
    switch (typeof schema.type === "string" ? schema.type : schema.type?.[0]) {
      case "object":
        return objectOf(schema, wrong);
      case "array":
        return Array.from({ length: below(3) }, () => value(schema.items ?? {}, wrong));
      case "integer":
      case "number":
        return (schema.minimum ?? 0) + below(Math.min(5, (schema.maximum ?? 5) + 1));
      case "boolean":
        return rarely(2);
      case "string":
        if (schema.format === "uuid") return rarely(8) ? uuid() : pick(ids());
        return rarely(10) ? "x".repeat((schema.maxLength ?? 100) + 1) : pick(words);
      case "null":
        return null;
      default:
        return absurd();
    }
  };
  const objectOf = (schema: Schema, wrong: number): Record<string, unknown> => {
    const entries = Object.entries(schema.properties ?? {})
      .filter(([name]) => (schema.required?.includes(name) ? !rarely(wrong) : rarely(2)))
      .map(([name, of]): [string, unknown] => [name, value(of, wrong)]);
    const each =
      schema.additionalProperties ?? Object.values(schema.patternProperties ?? {})[0] ?? false;
    if (typeof each === "object")
      for (let left = 1 + below(3); left > 0; left -= 1)
        entries.push([rarely(wrong) ? text() : pick(names), value(each, wrong)]);
    if (rarely(wrong)) entries.push([pick(["__proto__", "constructor", text()]), absurd()]);
    return Object.fromEntries(entries);
  };
  return { random, pick, rarely, value, text };
}

const words = ["zone", "main.tf", "1.2.3", "worker", "aws", "x", "a b", "é", "STDOUT"];

/**
 * Names of variables, files and environment variables. The last ones are refused in an environment.
 */
const names = ["a", "name_1", "main.tf", "dir/main.tf", "A_B", "LD_PRELOAD", "TF_VAR_a"];

const texts: readonly (() => string)[] = [
  () => "",
  () => "\u0000",
  () => "a\u0000b",
  () => "\ud800",
  () => "\udfff\ud800",
  () => "__proto__",
  () => "../../etc/passwd",
  () => "%00%ff%",
  () => "' OR 1=1 --",
  () => "x".repeat(9000),
  () => "😀".repeat(101),
  () => "-1",
  () => "1e999",
  () => "99999999999999999999",
  () => "\r\nX-Injected: 1",
  () => "00000000-0000-0000-0000-000000000000",
  () => "NaN",
];

const absurdities: readonly (() => unknown)[] = [
  () => null,
  () => true,
  () => -1,
  () => 1.5,
  () => 1e308,
  () => 2 ** 53,
  () => [],
  () => ({}),
  () => [[[[[[[[]]]]]]]],
  () => JSON.parse(`${'{"a":'.repeat(500)}1${"}".repeat(500)}`) as unknown,
  () => JSON.parse('{"__proto__":{"admin":true}}') as unknown,
  () => Array.from({ length: 2000 }, () => 0),
];
