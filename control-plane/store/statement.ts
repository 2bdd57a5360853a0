/**
 * Hot statements: built and compiled by Kysely once, then only bound and run. Building costs five
 * times what running a claim does (docs/decisions.md, "Prepared statements").
 */
import type { Compilable, Kysely } from "kysely";
import type { Tables } from "./tables.ts";

/** Values a statement can bind on both engines. */
export type Bindable = string | number | bigint | null | Buffer;

/** A query with named parameters `P` and rows `R`, independent of any connection. */
export interface Statement<P, R> {
  readonly build: (db: Kysely<Tables>) => CompiledStatement;
  /** Only carries the types. */
  readonly types?: (params: P) => R;
}

export interface CompiledStatement {
  readonly sql: string;
  /** What to bind, in order: a parameter's name or a fixed value. */
  readonly bindings: readonly (Parameter | Bindable)[];
}

/** Stands in for a parameter's value while the query is built. */
class Parameter {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** `query` gets typed placeholders. A parameter may be used more than once. */
export function statement<P extends Record<string, Bindable>, R = never>(
  query: (db: Kysely<Tables>, params: P) => Compilable,
): Statement<P, R> {
  return {
    build: (db) => {
      const placeholders = new Proxy({} as P, {
        get: (_, name) => new Parameter(String(name)) as never,
      });
      const compiled = query(db, placeholders).compile();
      return {
        sql: compiled.sql,
        bindings: compiled.parameters as readonly (Parameter | Bindable)[],
      };
    },
  };
}

export function bind(
  { bindings }: CompiledStatement,
  params: Readonly<Record<string, Bindable>>,
): Bindable[] {
  const values: Bindable[] = [];
  for (const binding of bindings) {
    if (binding instanceof Parameter) {
      const value = params[binding.name];
      if (value === undefined) throw new TypeError(`the statement needs "${binding.name}"`);
      values.push(value);
    } else values.push(binding);
  }
  return values;
}
