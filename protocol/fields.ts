/** The building blocks that every schema of the wire shares: ids, times, names, limits. */
import { Type, type Static, type TSchema } from "typebox";

/** The schema with words for the reader of the OpenAPI document; it judges as before. */
export const about = <T extends TSchema>(schema: T, description: string): T =>
  // With what TypeBox keeps out of sight: whether the field is optional.
  Object.defineProperties({} as T, {
    ...Object.getOwnPropertyDescriptors(schema),
    description: { value: description, enumerable: true },
  });

/** Beside each `pattern` stands in `x-form`, for people, what it wants: it completes "must be …". */

/** An id. The server makes UUIDs of version 7, so ids sort by time; any UUID is accepted. */
export const Uuid = Type.String({ format: "uuid", maxLength: 36 });

/** RFC 3339 in UTC with milliseconds, as `Date#toISOString` writes it. */
export const Timestamp = Type.String({ format: "date-time" });

/** Names of zones, configurations, projects and workers: 1–100 characters of any text without control characters. */
export const Name = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]+$",
  "x-form": "text without control characters",
});

/** Labels say which workers may take a job: all labels of the job must be among the worker's. */
export const Labels = Type.Array(
  Type.String({
    minLength: 1,
    maxLength: 63,
    pattern: "^[A-Za-z0-9][A-Za-z0-9._/:=-]*$",
    "x-form": "letters, digits and . _ / : = -, beginning with a letter or a digit",
  }),
  { maxItems: 32, uniqueItems: true },
);

const identifier = "[\\p{L}_][\\p{L}\\p{N}_-]*";
const instance = '(\\[(\\d{1,9}|"([^"\\\\\\u0000-\\u001f]|\\\\[^\\u0000-\\u001f])*")\\])?';
const moduleAddress = `module\\.${identifier}${instance}`;
const resourceInModule = `(data\\.)?${identifier}\\.${identifier}${instance}`;

/** The address of a module or of a resource, as terraform's `-target` takes it. */
export const ResourceAddress = Type.String({
  minLength: 3,
  maxLength: 1024,
  pattern: `^(${moduleAddress}(\\.${moduleAddress})*(\\.${resourceInModule})?|${resourceInModule})$`,
  "x-form": "the address of a resource or a module, such as module.worker",
  examples: ["module.worker", 'aws_instance.worker["a"]'],
});

/** Addresses of one command. */
export const addressLimit = 100;
export const ResourceAddresses = Type.Array(ResourceAddress, {
  minItems: 1,
  maxItems: addressLimit,
  uniqueItems: true,
});

/** Free-form JSON. Bounded by the body limit of its route. */
export const JsonObject = Type.Record(Type.String(), Type.Unknown());
export type JsonObject = Static<typeof JsonObject>;

/** A map whose names are judged too (TypeBox's own record lets names pass, unjudged, that do not match its pattern). */
export const MapOf = <T extends TSchema>(name: TSchema, value: T, limits: object = {}) =>
  Type.Unsafe<Record<string, Static<T>>>({
    type: "object",
    propertyNames: name,
    additionalProperties: value,
    ...limits,
  });

/** SHA-256 in lower-case hex. */
export const Sha256 = Type.String({
  pattern: "^[0-9a-f]{64}$",
  "x-form": "a SHA-256 digest: 64 hexadecimal digits in lower case",
});

/** RFC 9530; the header of an upload. */
export const ContentDigest = Type.String({
  maxLength: 500,
  description: "`sha-256=:<base64>:` of the body (RFC 9530): 400 when it does not match.",
  examples: ["sha-256=:n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=:"],
});

/** Characters of the reason of a failure. */
export const reasonLimit = 8192;

/** What a person reads as the reason of a failure. */
export const ErrorMessage = Type.String({ maxLength: reasonLimit });

/** A field that is always there and may be null; written as JSON Schema 2020-12's type list, which serialises fastest. */
export const Nullable = <T extends TSchema>(schema: T) => {
  const { type, enum: values } = schema as { type?: unknown; enum?: unknown[] };
  return typeof type === "string"
    ? Type.Unsafe<Static<T> | null>({
        ...schema,
        type: [type, "null"],
        ...(values ? { enum: [...values, null] } : {}),
      })
    : Type.Unsafe<Static<T> | null>({ anyOf: [schema, { type: "null" }] });
};

/** One of a fixed list of words. */
export const OneOf = <const T extends readonly string[]>(words: T) =>
  Type.Unsafe<T[number]>({ type: "string", enum: [...words] });

/** Paging of a list: without `limit` the whole list is answered. */
export const Paging = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      description: "How many on a page; without it the whole list is answered.",
      examples: [50],
    }),
  ),
  cursor: Type.Optional(
    Type.String({ minLength: 1, maxLength: 200, description: "The `next_cursor` of a page." }),
  ),
};

/** `next_cursor` is null on the last page and when no `limit` was asked for. */
export const NextCursor = about(
  Nullable(Type.String()),
  "The `cursor` of the next page; null on the last one, and without `limit`.",
);
