/**
 * Names the schemas of the protocol as components. Exported schemas are recognized inside others by
 * their content, so that the server validates with plain schemas and only the document has
 * references.
 */
import type { TSchema } from "typebox";
import * as approvals from "../../protocol/approvals.ts";
import * as audit from "../../protocol/audit.ts";
import * as auth from "../../protocol/auth.ts";
import * as cloudIdentities from "../../protocol/cloud-identities.ts";
import * as configurations from "../../protocol/configurations.ts";
import * as deployConfigurations from "../../protocol/deploy-configurations.ts";
import * as executions from "../../protocol/executions.ts";
import * as fields from "../../protocol/fields.ts";
import * as jobs from "../../protocol/jobs.ts";
import * as logins from "../../protocol/logins.ts";
import * as planSummary from "../../protocol/plan-summary.ts";
import * as problem from "../../protocol/problem.ts";
import * as releases from "../../protocol/releases.ts";
import * as repositories from "../../protocol/repositories.ts";
import * as state from "../../protocol/state.ts";
import * as stateVersions from "../../protocol/state-versions.ts";
import * as variableSets from "../../protocol/variable-sets.ts";
import * as workers from "../../protocol/workers.ts";

export type Json = { readonly [name: string]: unknown };

/** `NextCursor` is inlined: it is only a nullable string. */
const unnamed = new Set(["NextCursor"]);

const exported = Object.entries<unknown>({
  ...fields,
  ...approvals,
  ...audit,
  ...auth,
  ...cloudIdentities,
  ...configurations,
  ...deployConfigurations,
  ...executions,
  ...jobs,
  ...logins,
  ...planSummary,
  ...problem,
  ...releases,
  ...repositories,
  ...state,
  ...stateVersions,
  ...variableSets,
  ...workers,
}).filter(
  (entry): entry is [string, Json] =>
    /^[A-Z]/.test(entry[0]) && isSchema(entry[1]) && !unnamed.has(entry[0]),
);

export class Schemas {
  readonly #known = new Map<string, { name: string; schema: Json }>();
  readonly #used = new Map<string, Json>();

  constructor() {
    for (const [name, schema] of exported) this.#name(name, schema);
  }

  /** Returns the schema with references to named parts. `name` names a schema that has no name. */
  refer(schema: TSchema, name?: string): Json {
    if (name !== undefined && !this.#known.has(keyOf(schema))) this.#name(name, schema as Json);
    return this.#refer(schema as Json);
  }

  components(): Record<string, Json> {
    return Object.fromEntries([...this.#used].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  #name(name: string, schema: Json): void {
    const key = keyOf(schema);
    const other = this.#known.get(key)?.name;
    // With two names for one schema, references could get the wrong name.
    if (other !== undefined) throw new Error(`The schemas ${other} and ${name} are equal.`);
    this.#known.set(key, { name, schema });
  }

  #refer(schema: Json): Json {
    const found = this.#known.get(keyOf(schema));
    if (found) return { $ref: this.#use(found), ...ownDescription(schema, found.schema) };
    const plain = withoutNull(schema);
    const nullable = plain && this.#known.get(keyOf(plain));
    if (nullable) {
      const anyOf = [{ $ref: this.#use(nullable) }, { type: "null" }];
      return { anyOf, ...ownDescription(schema, nullable.schema) };
    }
    return this.#parts(schema);
  }

  #use({ name, schema }: { name: string; schema: Json }): string {
    if (!this.#used.has(name)) {
      // Reserved before its parts are resolved, in case the schema is recursive.
      this.#used.set(name, {});
      this.#used.set(name, this.#parts(schema));
    }
    return `#/components/schemas/${name}`;
  }

  #parts(schema: Json): Json {
    return Object.fromEntries(
      Object.entries(schema).map(([keyword, value]) => [keyword, this.#part(keyword, value)]),
    );
  }

  #part(keyword: string, value: unknown): unknown {
    switch (keyword) {
      case "properties":
      case "patternProperties":
        return Object.fromEntries(
          Object.entries(value as Json).map(([name, part]) => [name, this.#refer(part as Json)]),
        );
      case "anyOf":
        return (value as Json[]).map((part) => this.#refer(part));
      case "items":
      case "propertyNames":
      case "additionalProperties":
        return isSchema(value) ? this.#refer(value) : value;
      default:
        return value;
    }
  }
}

/** Returns the content of a schema as a key, without its description and examples. */
export function keyOf(of: Json | TSchema): string {
  const { description: _, examples: __, ...schema } = of as Json;
  return JSON.stringify(schema);
}

/** Whether the value is a schema, not a function or a map of schemas. */
function isSchema(value: unknown): value is Json {
  return typeof value === "object" && value !== null && ("type" in value || "anyOf" in value);
}

const ownDescription = ({ description }: Json, named: Json): Json =>
  description === undefined || description === named["description"] ? {} : { description };

/** Returns the schema that was passed to `Nullable`; undefined if null is not allowed. */
export function withoutNull({ type, enum: values, ...rest }: Json): Json | undefined {
  if (!Array.isArray(type)) return undefined;
  const plain = { type: type[0] as unknown, ...rest };
  return Array.isArray(values)
    ? { ...plain, enum: values.filter((value) => value !== null) }
    : plain;
}
