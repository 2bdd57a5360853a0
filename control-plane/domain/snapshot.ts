/** A configuration as it is stored, shown, hashed and handed to a runner. Sensitive values are sealed in all but the last. */
import { hash } from "node:crypto";
import canonicalize from "canonicalize";
import {
  inlineFilesLimit,
  variablesLimit,
  type ConfigSnapshot,
  type CreateConfiguration,
  type UpdateConfiguration,
  type Variable,
} from "../../protocol/configurations.ts";
import { isForbiddenEnvironmentName } from "../../protocol/environment-names.ts";
import { invalid, Refusal } from "../problem.ts";
import type { SecretBox } from "./secret-box.ts";

type StoredVariable = Variable & { sealed?: string };
type StoredVariables = Record<string, StoredVariable>;
/** The fields of a configuration that a runner needs, except its names. */
export type Definition = Omit<ConfigSnapshot, "name" | "project_name">;

/** The fields of a new configuration that make its definition, with its defaults filled in. */
export function definitionOf(input: Given): Definition {
  refuseEnvironment(input.environment ?? {});
  for (const [name, { value }] of Object.entries(input.variables ?? {}))
    if (value === undefined) throw invalid(`body.variables.${name}.value`, "is missing");
  refuseSize(input);
  return {
    source: input.source,
    engine: input.engine ?? "terraform",
    engine_version: input.engine_version ?? null,
    working_directory: input.working_directory ?? "",
    variables: input.variables ?? {},
    environment: input.environment ?? {},
    ...(input.backend ? { backend: input.backend } : {}),
    ...(input.submodules === true ? { submodules: true } : {}),
    ...(input.timeout_seconds === undefined ? {} : { timeout_seconds: input.timeout_seconds }),
  };
}

/** Each body has its limit, but variables are added one by one, and a runner gets all of it in one answer. */
function refuseSize({
  source,
  variables = {},
}: Pick<UpdateConfiguration, "source" | "variables">): void {
  const texts = source?.type === "inline" ? Object.entries(source.files).flat() : [];
  if (texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) > inlineFilesLimit)
    throw invalid("body.source.files", "hold more than 1 MiB together");
  if (JSON.stringify(variables).length > variablesLimit)
    throw invalid("body.variables", "hold more than 4 MiB together");
}

/** A definition (with its values) after an update. A variable without `value` keeps the one it has. */
export function updatedDefinition(before: Definition, change: UpdateConfiguration): Definition {
  const known = before.variables ?? {};
  const variables = change.variables && keepValues(known, change.variables);
  refuseEnvironment(change.environment ?? {});
  const given = { ...pick(change), ...(variables === undefined ? {} : { variables }) };
  refuseSize(given);
  return withoutDefaults({ ...before, ...given });
}

type Given = Omit<Definition, "backend"> & Pick<CreateConfiguration, "backend">;

/** Leaves out what is off or not chosen: a definition without it is the same one, and has the same hash. */
const withoutDefaults = ({ submodules, backend, ...definition }: Given): Definition => ({
  ...definition,
  ...(backend ? { backend } : {}),
  ...(submodules === true ? { submodules } : {}),
});

function pick(change: UpdateConfiguration): Partial<Given> {
  const {
    name: _,
    project_name: _p,
    zone_id: _z,
    cloud_identity_id: _c,
    labels: _l,
    ...rest
  } = change;
  return rest;
}

/** A sensitive value is kept only as a sensitive one: otherwise an update could show it. */
function keepValues(
  known: Readonly<Record<string, Variable>>,
  given: Readonly<Record<string, Variable>>,
): Record<string, Variable> {
  return Object.fromEntries(
    Object.entries(given).map(([name, variable]) => {
      if (variable.value !== undefined) return [name, variable];
      const kept = Object.hasOwn(known, name) ? known[name] : undefined;
      if (!kept || (kept.sensitive === true && variable.sensitive === false))
        throw invalid(`body.variables.${name}.value`, "is missing");
      return [name, { ...kept, ...variable }];
    }),
  );
}

/** Replaces every sensitive value by a sealed one that opens only under the same `about` (the spec's id). */
export function seal<T extends Definition>(definition: T, box: SecretBox, about: string): T {
  return mapVariables(definition, (variable, name) =>
    variable.sensitive === true
      ? {
          sensitive: true,
          sealed: box
            .seal(Buffer.from(JSON.stringify(variable.value ?? null)), `${about}/${name}`)
            .toString("base64"),
        }
      : variable,
  );
}

/** The other way round: only for the runner that holds the job, and for the hash. */
export function unseal<T extends Definition>(definition: T, box: SecretBox, about: string): T {
  return mapVariables(definition, ({ sealed, ...variable }, name) =>
    sealed === undefined
      ? variable
      : {
          ...variable,
          value: JSON.parse(
            box.open(Buffer.from(sealed, "base64"), `${about}/${name}`).toString(),
          ) as unknown,
        },
  );
}

/** What people see: `{sensitive: true}` without a value. */
export const mask = <T extends Definition>(definition: T): T =>
  mapVariables(definition, (variable) =>
    variable.sensitive === true ? { sensitive: true } : variable,
  );

/** SHA-256 over the canonical JSON (RFC 8785) of a snapshot with its values. */
export const configHash = (snapshot: ConfigSnapshot): string =>
  hash("sha256", canonicalize(snapshot) ?? "", "hex");

function mapVariables<T extends Definition>(
  definition: T,
  change: (variable: StoredVariable, name: string) => StoredVariable,
): T {
  if (definition.variables === undefined) return definition;
  const variables: StoredVariables = Object.fromEntries(
    Object.entries(definition.variables).map(([name, variable]) => [name, change(variable, name)]),
  );
  return { ...definition, variables };
}

function refuseEnvironment(environment: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(environment)) {
    if (isForbiddenEnvironmentName(name))
      throw new Refusal("forbidden_environment_name", `environment may not set ${name}`, {
        errors: [{ path: `body.environment.${name}`, message: "may not be set by a job" }],
      });
    if (value.includes("\0")) throw invalid(`body.environment.${name}`, "must not contain NUL");
  }
}
