/** Which values a configuration gets from its variable sets, and which of them win. */
import type { AttachedSet, TextValue, Variable } from "../../protocol/configurations.ts";
import {
  environmentCount,
  environmentLimit,
  variablesCount,
  variablesLimit,
} from "../../protocol/values.ts";
import { RefusalError } from "./refusal.ts";
import type { Values } from "./snapshot-values.ts";

export type ValuedSet = AttachedSet & { readonly values: Values };

/** Whose values a set may give. */
export const valueKinds = ["variables", "environment"] as const;
export type ValueKind = (typeof valueKinds)[number];

/** Sets are in the order in which they win; own values win over all. Throws if too large. */
export function withSets<T extends Values>(own: T, sets: readonly ValuedSet[]): T {
  if (sets.length === 0) return own;
  const layers: Values[] = [...sets.map(({ values }) => values).toReversed(), own];
  const merged: Values = {
    variables: together<Variable>(layers.map(({ variables }) => variables)),
    environment: together<TextValue>(layers.map(({ environment }) => environment)),
  };
  refuseTooMany(merged);
  return { ...own, ...merged };
}

/** The last one of each name wins. */
const together = <T>(layers: readonly (Readonly<Record<string, T>> | undefined)[]) =>
  Object.fromEntries(layers.flatMap((layer) => Object.entries(layer ?? {})));

function refuseTooMany({ variables = {}, environment = {} }: Values): void {
  const beyond =
    Object.keys(variables).length > variablesCount
      ? `${variablesCount} variables`
      : Object.keys(environment).length > environmentCount
        ? `${environmentCount} environment variables`
        : bytesOf(variables) > variablesLimit
          ? "4 MiB of variables"
          : bytesOf(environment) > environmentLimit
            ? "1 MiB of environment variables"
            : undefined;
  if (beyond !== undefined)
    throw new RefusalError(
      "quota_exceeded",
      `the configuration and its variable sets together have more than ${beyond}: detach a set or remove values`,
    );
}

const bytesOf = (values: object): number => Buffer.byteLength(JSON.stringify(values));

/** A value that a set gives to a configuration. */
export interface Inherited {
  readonly kind: ValueKind;
  readonly name: string;
  readonly value: Variable | TextValue;
  readonly set: AttachedSet;
  /** What wins over it: the configuration's own value, or another set. */
  readonly overriddenBy?: "configuration" | AttachedSet;
}

/** Returns the values of all sets, by name, those that win first. */
export function inherited(own: Values, sets: readonly ValuedSet[]): Inherited[] {
  return valueKinds.flatMap((kind) => {
    const winners = new Map<string, "configuration" | AttachedSet>(
      Object.keys(own[kind] ?? {}).map((name) => [name, "configuration"]),
    );
    const found = sets.flatMap(({ values, ...set }) =>
      Object.entries<Variable | TextValue>(values[kind] ?? {}).map(([name, value]): Inherited => {
        const overriddenBy = winners.get(name);
        if (overriddenBy === undefined) winners.set(name, set);
        return { kind, name, value, set, ...(overriddenBy ? { overriddenBy } : {}) };
      }),
    );
    return found.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  });
}
