/** Building blocks of the schemas: ids, times, names, limits. */
import { Type, type Static, type TSchema } from "typebox";
import { invisible } from "../common/control-sequences.ts";
import { identifier, idPrefixLength } from "./limits.ts";

/** Adds a description for the OpenAPI document. The validation does not change. */
export const about = <T extends TSchema>(schema: T, description: string): T =>
  // Copies non-enumerable properties too, with which TypeBox marks optional fields.
  Object.defineProperties({} as T, {
    ...Object.getOwnPropertyDescriptors(schema),
    description: { value: description, enumerable: true },
  });

/** Each `pattern` has an `x-form` beside it, which completes the message "must be …". */

/** An id. The server generates UUIDs of version 7, which sort by time; any UUID is accepted. */
export const Uuid = Type.String({ format: "uuid", maxLength: 36 });

/** The beginning of an id, as users type it. */
export const IdPrefix = Type.String({
  minLength: idPrefixLength,
  maxLength: 36,
  pattern: "^[0-9A-Fa-f-]+$",
  "x-form": "the beginning of an id",
  description: "Only those whose id begins with this.",
  examples: ["01890a5d-ac96"],
});

/** RFC 3339 in UTC with milliseconds, as `Date#toISOString` writes it. */
export const Timestamp = Type.String({ format: "date-time" });

/** A name in a response: earlier versions accepted more than `Name` does. */
export const StoredName = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]+$",
  "x-form": "text without control characters",
});

/**
 * A name that a person gives, without characters that make different ones look the same: of
 * direction, or without a width. The server converts it to Unicode's composed form.
 */
export const Name = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: String.raw`^(?=.*\S)[^\u0000-\u001f\u007f-\u009f${invisible}]+$`,
  "x-form":
    "text that is not blank, without control characters and invisible characters, such as those that set the writing direction",
  "x-unicode-form": "NFC",
});

/** The pattern of one label of a worker or a job. */
export const label = "[A-Za-z0-9][A-Za-z0-9._/:=-]*";

/** A worker may run a job only if it has all labels of the job. */
export const Labels = Type.Array(
  Type.String({
    minLength: 1,
    maxLength: 63,
    pattern: `^${label}$`,
    "x-form": "letters, digits and . _ / : = -, beginning with a letter or a digit",
  }),
  { maxItems: 32, uniqueItems: true },
);

const instance = '(\\[(\\d{1,9}|"([^"\\\\\\u0000-\\u001f]|\\\\[^\\u0000-\\u001f])*")\\])?';
const moduleAddress = `module\\.${identifier}${instance}`;
const resourceInModule = `(data\\.)?${identifier}\\.${identifier}${instance}`;

/** The address of a module or a resource, as for terraform's `-target`. */
export const ResourceAddress = Type.String({
  minLength: 3,
  maxLength: 1024,
  pattern: `^(${moduleAddress}(\\.${moduleAddress})*(\\.${resourceInModule})?|${resourceInModule})$`,
  "x-form": "the address of a resource or a module, such as module.worker",
  examples: ["module.worker", 'aws_instance.worker["a"]'],
});

/** The address of one resource, or of one instance of it, as for terraform's `-replace`. */
export const InstanceAddress = Type.String({
  minLength: 3,
  maxLength: 1024,
  pattern: `^(${moduleAddress}\\.)*(?!module\\.|data\\.)${identifier}\\.${identifier}${instance}$`,
  "x-form": "the address of a managed resource, such as aws_instance.web",
  examples: ['aws_instance.web["a"]'],
});

/** Limit of the addresses of one job. */
export const addressLimit = 100;
export const ResourceAddresses = Type.Array(ResourceAddress, {
  minItems: 1,
  maxItems: addressLimit,
  uniqueItems: true,
});

/** Free-form JSON, limited by the body limit of its endpoint. */
export const JsonObject = Type.Record(Type.String(), Type.Unknown());
export type JsonObject = Static<typeof JsonObject>;

/** A map whose names are validated too. TypeBox's own record ignores names that do not match. */
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

/** The `Content-Digest` header of an upload (RFC 9530). */
export const ContentDigest = Type.String({
  maxLength: 500,
  description: "`sha-256=:<base64>:` of the body (RFC 9530). 400 if it does not match.",
  examples: ["sha-256=:n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=:"],
});

/** Limit of an error message in characters. */
export const reasonLimit = 8192;

export const ErrorMessage = Type.String({ maxLength: reasonLimit });

/** A required field that may be null, as a type list of JSON Schema, which serializes fastest. */
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

export const OneOf = <const T extends readonly string[]>(words: T) =>
  Type.Unsafe<T[number]>({ type: "string", enum: [...words] });

/** Paging of a list. Without `limit` the whole list is returned. */
export const Paging = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      description: "The size of a page. Without it the whole list is returned.",
      examples: [50],
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: "The `next_cursor` of the previous page.",
    }),
  ),
};

/** `next_cursor` is null on the last page and without `limit`. */
export const NextCursor = about(
  Nullable(Type.String()),
  "The `cursor` of the next page; null on the last one, and without `limit`.",
);
