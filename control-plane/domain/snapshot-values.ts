import type {
  ConfigSnapshot,
  TextValue,
  UpdateConfiguration,
  Variable,
} from "../../protocol/configurations.ts";
import type { PlanOptions } from "../../protocol/plan-options.ts";
import { isSecretEnvironmentName } from "../../protocol/environment-names.ts";
import { invalid } from "./refusal.ts";

/** What a runner needs, except the names; and the origin, which a runner does not get. */
export type Definition = Omit<ConfigSnapshot, "name" | "project_name"> &
  Pick<UpdateConfiguration, "origin">;

/** The source of a job that has another one than its configuration, and what it names in it. */
export type OwnFiles = Required<Pick<Definition, "source">> &
  Pick<Definition, (typeof ownFieldNames)[number]>;
export const ownFieldNames = ["working_directory", "var_files"] as const;

/** The values of a variable set. */
export type Values = Pick<Definition, "variables" | "environment">;

/**
 * A job's snapshot as it is stored. What is not part of `config_hash`: marks if its source is not
 * the configuration's, how its plan differs from an ordinary one, and which variables are of sets.
 */
export type StoredSnapshot = Partial<ConfigSnapshot> & {
  readonly own_source?: true;
  /** What is not the configuration's either. */
  readonly own_fields?: readonly (typeof ownFieldNames)[number][];
  readonly plan_options?: PlanOptions;
  /** The DEPLOY that it is of, if it is not of the configuration as it is now. */
  readonly deployed_of?: string;
  /** The names of its variables that come from variable sets, for the runner. */
  readonly set_variables?: readonly string[];
  /** For a DESTROY_WORKER: an earlier attempt may have destroyed some of its targets. */
  readonly resumes_teardown?: true;
};

/** A value; a sealed one in the store. */
export type Entry = Variable & { sealed?: string };

const textGroups = ["environment", "backend_config"] as const;
type TextGroup = (typeof textGroups)[number];

/** Unless a person says otherwise. A bucket's `key` is a path. */
export const isSecretName = (group: TextGroup | "variables", name: string): boolean =>
  group !== "variables" &&
  isSecretEnvironmentName(name) &&
  !(group === "backend_config" && name === "key");

/** Names a value: two of the same name in different groups have different places. */
export const placeOf = (group: TextGroup | "variables", name: string): string =>
  group === "variables" ? name : `${group}/${name}`;

export function mapEntries<T extends Partial<Definition>>(
  definition: T,
  change: (entry: Entry, place: string) => Entry,
): T {
  const changed: Partial<Definition> = {};
  if (definition.variables)
    changed.variables = mapped(definition.variables, (entry, name) =>
      change(entry, placeOf("variables", name)),
    );
  for (const group of textGroups) {
    const texts = definition[group];
    if (!texts) continue;
    changed[group] = mapped(texts, (text, name) =>
      typeof text !== "object" || text === null
        ? text
        : (change(text, placeOf(group, name)) as TextValue),
    );
  }
  return { ...definition, ...changed };
}

/** The given values in their stored form. One without `value` keeps what it has in `before`. */
export function normalized(
  before: Partial<Definition>,
  given: UpdateConfiguration,
): Partial<Definition> {
  const result: Partial<Definition> = {};
  if (given.variables)
    result.variables = mapped(given.variables, (variable, name) =>
      kept(`variables.${name}`, ownValue(before.variables, name), variable),
    );
  for (const group of textGroups) {
    const texts = given[group];
    if (!texts) continue;
    result[group] = mapped(texts, (text, name) => {
      const known = ownValue(before[group], name);
      return textOf(isSecretName(group, name), `${group}.${name}`, known, text);
    });
  }
  return result;
}

/** Text alone says nothing of its sensitivity: that stays as it was, or follows from the name. */
function textOf(
  isSecret: boolean,
  path: string,
  known: TextValue | undefined,
  given: TextValue,
): TextValue {
  const before = asEntry(known);
  const whole = kept(path, before, asEntry(given));
  // The stored value cannot be decrypted, and stays until a new one is given.
  if (whole.sealed !== undefined) return whole as TextValue;
  const { value, sensitive = before?.sensitive ?? isSecret } = whole as {
    value: string;
    sensitive?: boolean;
  };
  if (sensitive) return { value, sensitive };
  return isSecret ? { value, sensitive } : value;
}

function asEntry(text: TextValue): Entry;
function asEntry(text: TextValue | undefined): Entry | undefined;
function asEntry(text: TextValue | undefined): Entry | undefined {
  return typeof text === "string" ? { value: text } : text;
}

/** A sensitive value stays sensitive: otherwise an update could disclose it. */
function kept(path: string, before: Entry | undefined, given: Entry): Entry {
  if (given.value !== undefined) return given;
  if (before?.sensitive === true && given.sensitive === false)
    throw invalid(
      `body.${path}.value`,
      "is missing: a sensitive value does not become readable, so enter a new one",
    );
  if (!before) throw invalid(`body.${path}.value`, "is missing");
  return { ...before, ...given };
}

const ownValue = <T>(
  values: Readonly<Record<string, T>> | undefined,
  name: string,
): T | undefined => (values && Object.hasOwn(values, name) ? values[name] : undefined);

const mapped = <T, R>(
  values: Readonly<Record<string, T>>,
  change: (value: T, name: string) => R,
): Record<string, R> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value, name)]));
