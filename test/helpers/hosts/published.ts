/**
 * Published descriptions of APIs and events. A stand-in states the values that matter, and the
 * description gives the rest: what a host always sends, empty or null wherever it may be.
 */
import { readFileSync } from "node:fs";
import { Ajv, type ValidateFunction } from "ajv";
import addFormats from "ajv-formats";

type Json = Readonly<Record<string, unknown>>;
interface Schema {
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly type?: string | readonly string[];
  readonly nullable?: boolean;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly minimum?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: unknown;
  readonly items?: Schema;
}
interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}
interface Operation {
  readonly parameters?: readonly { $ref?: string; name?: string; in?: string }[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content & { readonly $ref?: string }>>;
}

const texts: Readonly<Record<string, string>> = {
  "date-time": "2026-01-02T03:04:05Z",
  uri: "https://host.example/",
  email: "ada@example.com",
};

export class Published {
  readonly #document: Json;
  readonly #ajv = new Ajv({ strict: false, allErrors: true, logger: false });
  readonly #compiled = new Map<Schema, ValidateFunction>();

  constructor(file: string) {
    this.#document = JSON.parse(readFileSync(file, "utf8")) as Json;
    addFormats.default(this.#ajv);
  }

  /** Why the host would refuse a request; undefined if it takes it. `operation`: `GET /path`. */
  refusal(operation: string, query: URLSearchParams, body: Json): string | undefined {
    const { parameters = [], requestBody } = this.#operation(operation);
    const known = new Set(parameters.map((one) => (this.#at(one) as { name: string }).name));
    const other = [...query.keys()].find((name) => !known.has(name));
    if (other !== undefined) return `${operation} has no parameter ${other}`;
    const schema = schemaIn(requestBody);
    return schema && (this.#unknown(schema, body, operation) ?? this.#violation(schema, body));
  }

  /** An answer with these values. Throws if the host gives no such answer. */
  answer(operation: string, status: number, value: unknown): unknown {
    const response = this.#operation(operation).responses[status];
    if (!response) throw new Error(`${operation} never answers ${status}`);
    const schema = schemaIn(this.#at(response) as Content);
    return schema && this.#complete(schema, value, operation);
  }

  /** An event with these values. Throws if the host sends no such event. */
  event(name: string, value: Json): unknown {
    return this.#complete({ $ref: `#/definitions/${name}` }, value, name);
  }

  #operation(operation: string): Operation {
    const [method = "", path = ""] = operation.replaceAll("+}", "}").split(" ");
    const paths = this.#document["paths"] as Readonly<Record<string, Record<string, Operation>>>;
    const found = paths[path]?.[method.toLowerCase()];
    if (!found) throw new Error(`there is no ${operation}`);
    return found;
  }

  #complete(schema: Schema, value: unknown, what: string): unknown {
    const unknown = this.#unknown(schema, value, what);
    if (unknown !== undefined) throw new Error(unknown);
    const complete = this.#filled(schema, value);
    const violation = this.#violation(schema, complete);
    if (violation !== undefined) throw new Error(`${what}: ${violation}`);
    return complete;
  }

  #violation(schema: Schema, value: unknown): string | undefined {
    let validate = this.#compiled.get(schema);
    if (!validate) {
      const parts = JSON.stringify({ ...schema, ...this.#parts(schema) });
      validate = this.#ajv.compile(JSON.parse(parts, withoutNullable) as object);
      this.#compiled.set(schema, validate);
    }
    return validate(value) ? undefined : this.#ajv.errorsText(validate.errors);
  }

  /** The part of the document that a schema refers to: all of it takes seconds to compile. */
  #parts(schema: Schema): Json {
    const parts: Record<string, Record<string, Record<string, unknown>>> = {};
    const visit = (one: unknown): void => {
      for (const [, reference] of JSON.stringify(one).matchAll(/"\$ref":"(#[^"]+)"/g)) {
        const names = reference!.slice(2).split("/");
        const last = names.pop()!;
        let place: Record<string, unknown> = parts;
        for (const name of names) place = (place[name] ??= {}) as Record<string, unknown>;
        if (last in place) continue;
        place[last] = this.#at({ $ref: reference! });
        visit(place[last]);
      }
    };
    visit(schema);
    return parts;
  }

  #at(one: { readonly $ref?: string }): unknown {
    if (one.$ref === undefined) return one;
    let found: unknown = this.#document;
    for (const name of one.$ref.slice(2).split("/")) found = (found as Json)[name];
    return this.#at(found as Schema);
  }

  /** With all parts of it in one place; of alternatives, the first. */
  #plain(schema: Schema): Schema {
    const { allOf = [], oneOf, anyOf, ...own } = this.#at(schema) as Schema;
    const parts = [...allOf, ...(oneOf ?? anyOf ?? []).slice(0, 1)].map((one) => this.#plain(one));
    const all = [...parts, own];
    return Object.assign({}, ...all, {
      required: all.flatMap(({ required = [] }) => required),
      properties: Object.assign({}, ...all.map(({ properties = {} }) => properties)) as unknown,
    }) as Schema;
  }

  /** A field that the description does not have. */
  #unknown(schema: Schema, value: unknown, what: string): string | undefined {
    const { items, properties = {}, additionalProperties } = this.#plain(schema);
    if (Array.isArray(value) && items)
      return value.map((one) => this.#unknown(items, one, `${what}[]`)).find(Boolean);
    if (typeof value !== "object" || value === null || additionalProperties) return undefined;
    if (Object.keys(properties).length === 0) return undefined;
    for (const [name, field] of Object.entries(value)) {
      const known = properties[name];
      if (!known) return `${what} has no ${name}`;
      const inner = this.#unknown(known, field, `${what}.${name}`);
      if (inner !== undefined) return inner;
    }
    return undefined;
  }

  #filled(schema: Schema, value: unknown): unknown {
    const plain = this.#plain(schema);
    if (value === undefined) return this.#least(plain);
    const { items, properties = {}, required = [] } = plain;
    if (Array.isArray(value)) return value.map((one) => (items ? this.#filled(items, one) : one));
    if (typeof value !== "object" || value === null) return value;
    const given = value as Json;
    const names = new Set([...required, ...Object.keys(given)]);
    return Object.fromEntries(
      [...names].map((name) => {
        const field = properties[name];
        return [name, field ? this.#filled(field, given[name]) : (given[name] ?? null)];
      }),
    );
  }

  #least(plain: Schema): unknown {
    const { nullable, type, format = "", minimum = 0 } = plain;
    const types = new Set([type].flat());
    if (nullable || types.has("null")) return null;
    if (plain.const !== undefined) return plain.const;
    if (plain.enum) return plain.enum[0];
    if (types.has("array")) return [];
    if (types.has("boolean")) return false;
    if (types.has("integer") || types.has("number")) return minimum;
    if (types.has("string")) return texts[format] ?? "";
    return this.#filled(plain, {});
  }
}

/** The validator knows `nullable` only beside a type. */
function withoutNullable(_: string, value: unknown): unknown {
  const { nullable, type, ...schema } = (value ?? {}) as Schema;
  return nullable === true && type === undefined ? { anyOf: [schema, { type: "null" }] } : value;
}

function schemaIn(content: Content | undefined): Schema | undefined {
  return Object.values(content?.content ?? {})[0]?.schema;
}
