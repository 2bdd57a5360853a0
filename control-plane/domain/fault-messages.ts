import type { ErrorObject } from "ajv";

/** A fault of one field. `message` completes a sentence that begins with the field's name. */
export interface FieldFault {
  readonly path: string;
  readonly message: string;
}

type Given = Pick<ErrorObject, "params" | "parentSchema">;
type Message = (given: Given, nothing: string) => string;

const types: Readonly<Record<string, string>> = {
  string: "text",
  integer: "a whole number",
  number: "a number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
};

const formats: Readonly<Record<string, string>> = {
  uuid: "a UUID, such as 019aa5c2-91f4-7a6e-9b1d-2c3d4e5f6a04",
  "date-time": "a time with its zone, such as 2026-01-31T12:00:00Z",
};

const limit = ({ params }: Given): number => Number(params["limit"]);
const count = (number: number, thing: string, things: string): string =>
  `${number} ${number === 1 ? thing : things}`;
const entries = (given: Given): string => count(limit(given), "entry", "entries");
const characters = (given: Given): string => count(limit(given), "character", "characters");
const atLeast = (given: Given, what: string): string =>
  limit(given) === 1 ? "must not be empty" : `must have at least ${what}`;

export const faultMessages = {
  required: () => "is missing",
  dependentRequired: () => "is missing",
  additionalProperties: () => "is not a field that is known here",
  type: ({ params }, nothing) =>
    `must be ${[...new Set(typesOf({ params }))]
      .map((type) => (type === "null" ? nothing : (types[type] ?? type)))
      .join(" or ")}`,
  enum: ({ params }) =>
    `must be one of ${(params["allowedValues"] as unknown[])
      .filter((value) => value !== null)
      .map(String)
      .join(", ")}`,
  const: ({ params }) => `must be ${String(params["allowedValue"])}`,
  minLength: (given) => atLeast(given, characters(given)),
  maxLength: (given) => `must have at most ${characters(given)}`,
  pattern: ({ parentSchema }) => patternMessage(parentSchema),
  format: ({ params }) =>
    `must be ${formats[String(params["format"])] ?? `a valid ${params["format"]}`}`,
  minimum: (given) => `must be ${limit(given)} or more`,
  maximum: (given) => `must be ${limit(given)} or less`,
  exclusiveMinimum: (given) => `must be more than ${limit(given)}`,
  exclusiveMaximum: (given) => `must be less than ${limit(given)}`,
  minItems: (given) => atLeast(given, entries(given)),
  maxItems: (given) => `must have at most ${entries(given)}`,
  uniqueItems: () => "must not name the same thing twice",
  minProperties: (given) => atLeast(given, entries(given)),
  maxProperties: (given) => `must have at most ${entries(given)}`,
  propertyNames: ({ params }) => `must not contain the name ${quoted(params["propertyName"])}`,
  discriminator: ({ params, parentSchema }) => `must be one of ${kindsOf(parentSchema, params)}`,
  anyOf: () => "has a form that is not accepted",
  oneOf: () => "has a form that is not accepted",
} as const satisfies Readonly<Record<string, Message>>;

/** Returns the first fault of each field, at most `most`. `nothing`: what null is called. */
export function describeFaults(
  found: readonly ErrorObject[],
  context: string,
  most: number,
  nothing: string,
): FieldFault[] {
  const faults = new Map<string, ErrorObject>();
  for (const error of found) {
    const path = pathOf(context, error);
    const first = faults.get(path);
    if (first === undefined) faults.set(path, error);
    // A value that may have several types fails for each of them.
    else if (first.keyword === "type" && error.keyword === "type")
      faults.set(path, { ...first, params: { type: [typesOf(first), typesOf(error)].flat() } });
  }
  return [...faults]
    .slice(0, most)
    .map(([path, error]) => ({ path, message: messageOf(error, nothing) }));
}

const typesOf = ({ params }: Pick<ErrorObject, "params">): string[] =>
  [params["type"] as string | string[]].flat();

function messageOf(error: ErrorObject, nothing: string): string {
  const { keyword, propertyName } = error;
  const known: Readonly<Record<string, Message>> = faultMessages;
  const message = known[keyword]?.(error, nothing) ?? "is not accepted";
  // Ajv checks a name as a value at the path of its map.
  return propertyName === undefined
    ? message
    : `must not contain the name ${quoted(propertyName)}: a name ${message}`;
}

/** The kinds of a schema that is selected by a tag. */
const kindsOf = (schema: ErrorObject["parentSchema"], { tag }: Given["params"]): string =>
  ((schema ?? {})["oneOf"] as { properties: Record<string, { const?: unknown }> }[])
    .map(({ properties }) => String(properties[tag]?.const))
    .join(", ");

/** `x-form` of a schema describes its pattern for people. */
const patternMessage = (schema: ErrorObject["parentSchema"]): string =>
  typeof schema?.["x-form"] === "string"
    ? `must be ${schema["x-form"]}`
    : "has a form that is not accepted";

const quoted = (name: unknown): string => `"${cut(String(name))}"`;
const cut = (name: string): string => (name.length <= 100 ? name : `${name.slice(0, 99)}…`);

/** `body.labels.0`; for a missing or unknown field, that field's name. */
function pathOf(context: string, { instancePath, params }: ErrorObject): string {
  const field = params["additionalProperty"] ?? params["missingProperty"] ?? params["tag"];
  const parts = instancePath.split("/").slice(1).map(unescaped);
  return [context, ...parts, ...(typeof field === "string" ? [cut(field)] : [])].join(".");
}

/** RFC 6901. */
const unescaped = (part: string): string => part.replaceAll("~1", "/").replaceAll("~0", "~");
