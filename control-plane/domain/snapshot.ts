/** Sensitive values are sealed in all forms but that for a runner. */
import { createHmac, hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import canonicalize from "canonicalize";
import { gitRefProblem } from "../../common/git-ref.ts";
import { constraintProblem } from "../../common/version-constraint.ts";
import {
  environmentLimit,
  inlineFilesLimit,
  variablesLimit,
  type ClaimedSnapshot,
  type ConfigSnapshot,
  type CreateConfiguration,
  type UpdateConfiguration,
} from "../../protocol/configurations.ts";
import { checkEnvironment } from "./environment.ts";
import { invalid } from "./refusal.ts";
import { secretBox, UnreadableError, type SecretBox, type SecretKeys } from "./secret-box.ts";
import { directoryProblem, gitUrlProblem } from "./source.ts";
import {
  mapEntries,
  normalized,
  type Definition,
  type Entry,
  type OwnFiles,
  type Values,
} from "./snapshot-values.ts";

export type { Definition } from "./snapshot-values.ts";

/** The fields of a new configuration that make its definition, with its defaults filled in. */
export function definitionOf(input: DefinitionFields): Definition {
  const given = checked({}, input);
  return withoutDefaults({
    engine: "terraform",
    engine_version: null,
    working_directory: "",
    variables: {},
    environment: {},
    ...given,
    source: input.source,
  });
}

/** A definition (with its values) after an update. A value that is not given stays unchanged. */
export const updatedDefinition = (before: Definition, change: UpdateConfiguration): Definition =>
  withoutDefaults({ ...before, ...checked(before, change) });

/** A definition (sealed or not) that takes over the files of a plan. */
export const withFiles = (before: Definition, files: OwnFiles): Definition =>
  withoutDefaults({ ...before, ...files });

/** The values of a variable set after an update: the same rules as for a configuration. */
export const updatedValues = (before: Values, change: Values): Values => ({
  ...before,
  ...checked(before, change),
});

/** The fields of a definition that are given, validated, each value in its stored form. */
function checked(
  before: Partial<Definition>,
  given: Partial<DefinitionFields>,
): Partial<DefinitionFields> {
  checkEnvironment(given.environment ?? {});
  const problem = given.source?.type === "git" ? gitUrlProblem(given.source.url) : undefined;
  if (problem !== undefined) throw invalid("body.source.url", problem);
  checkPaths(before, { ...before, ...given });
  // An unchanged version is not checked either.
  if (given.engine_version !== before.engine_version)
    checkEngineVersion(given.engine_version ?? null);
  const fields: Partial<DefinitionFields> = { ...pick(given), ...normalized(before, given) };
  checkSizes(fields);
  const { backend, backend_config = {} } = { ...before, ...fields };
  if (backend === "managed" && Object.keys(backend_config).length > 0)
    throw invalid(
      "body.backend_config",
      "is for a backend that the files declare, and the backend is managed",
    );
  return fields;
}

/** Bodies are limited one by one, but a runner gets all variables in one response. */
function checkSizes({ source, variables = {}, environment = {} }: Partial<DefinitionFields>): void {
  const texts = source?.type === "inline" ? Object.entries(source.files).flat() : [];
  if (texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) > inlineFilesLimit)
    throw invalid("body.source.files", "are larger than 1 MiB in total");
  if (Buffer.byteLength(JSON.stringify(variables)) > variablesLimit)
    throw invalid("body.variables", "are larger than 4 MiB in total");
  if (Buffer.byteLength(JSON.stringify(environment)) > environmentLimit)
    throw invalid("body.environment", "is larger than 1 MiB in total");
}

/** Unchanged paths are not checked: earlier versions of the server accepted any. */
function checkPaths(
  before: Partial<DefinitionFields>,
  { source, working_directory = "" }: Partial<DefinitionFields>,
) {
  const isSame = working_directory === (before.working_directory ?? "");
  if (isSame && isDeepStrictEqual(source, before.source)) return;
  const { ref, path = "" } = source?.type === "git" ? source : {};
  const problems = {
    "source.ref": ref === undefined ? undefined : gitRefProblem(ref),
    "source.path": directoryProblem(path),
    working_directory: directoryProblem(working_directory, path),
  };
  for (const [field, problem] of Object.entries(problems))
    if (problem !== undefined) throw invalid(`body.${field}`, problem);
}

function checkEngineVersion(constraint: string | null): void {
  const problem = constraint === null ? undefined : constraintProblem(constraint);
  if (problem !== undefined) throw invalid("body.engine_version", problem);
}

type DefinitionFields = Omit<Definition, "backend" | "parallelism"> &
  Pick<CreateConfiguration, "backend" | "parallelism">;

/** A definition without what is off or empty is the same one and has the same hash. */
function withoutDefaults(given: DefinitionFields): Definition {
  const { submodules, backend, parallelism, var_files, backend_config, ...definition } = given;
  return {
    ...definition,
    ...(backend ? { backend } : {}),
    ...(submodules === true ? { submodules } : {}),
    ...(typeof parallelism === "number" ? { parallelism } : {}),
    ...(var_files && var_files.length > 0 ? { var_files } : {}),
    ...(backend_config && Object.keys(backend_config).length > 0 ? { backend_config } : {}),
  };
}

const fieldNames = [
  "origin",
  "source",
  "engine",
  "engine_version",
  "working_directory",
  "backend",
  "var_files",
  "backend_config",
  "variables",
  "environment",
  "parallelism",
  "submodules",
  "timeout_seconds",
] as const satisfies (keyof DefinitionFields)[];

const pick = (given: Partial<DefinitionFields>): Partial<DefinitionFields> =>
  Object.fromEntries(
    fieldNames.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])),
  );

/** Sealed values open only for the same `about`: the id of the configuration, job or worker. */
export const seal = <T extends Partial<Definition>>(
  definition: T,
  box: SecretBox,
  about: string,
): T => mapEntries(definition, sealer(box, about));

const sealer =
  (box: SecretBox, about: string) =>
  (entry: Entry, place: string): Entry =>
    entry.sensitive === true && entry.sealed === undefined
      ? {
          sensitive: true,
          sealed: box
            .seal(Buffer.from(JSON.stringify(entry.value ?? null)), `${about}/${place}`)
            .toString("base64"),
        }
      : entry;

/** For the holder of the job and for the hash only. UnreadableError names the value. */
export const unseal = <T extends Partial<Definition>>(
  definition: T,
  box: SecretBox,
  about: string,
): T =>
  mapEntries(definition, (entry, place) => {
    const opened = opener(box, about)(entry, place);
    if (opened.sealed === undefined) return opened;
    throw new UnreadableError(
      `${place.includes("/") ? place.replace("/", ".") : `variables.${place}`} cannot be decrypted: it was sealed with another WINDLASS_SECRET_KEY, or is damaged. Set the value again`,
    );
  });

/** Leaves values sealed that cannot be opened: an update may replace them. */
export const unsealReadable = <T extends Partial<Definition>>(
  definition: T,
  box: SecretBox,
  about: string,
): T => mapEntries(definition, opener(box, about));

const opener =
  (box: SecretBox, about: string) =>
  ({ sealed, ...entry }: Entry, place: string): Entry => {
    if (sealed === undefined) return entry;
    try {
      const text = box.open(Buffer.from(sealed, "base64"), `${about}/${place}`).toString();
      return { ...entry, value: JSON.parse(text) as unknown };
    } catch {
      return { ...entry, sealed };
    }
  };

/** Marks of sensitive values by their places, as `placeOf` names them. */
export type ValueMarks = ReadonlyMap<string, string>;

/**
 * Returns a mark of each sensitive value of an opened definition. Another value has another mark, so a
 * form can tell whether a value that it does not show has changed. Marks are keyed, because pages
 * contain them.
 */
export function markSecrets(
  definition: Partial<Definition>,
  box: SecretBox,
  about: string,
): ValueMarks {
  const marks = new Map<string, string>();
  mapEntries(definition, (entry, place) => {
    const content = entry.sealed ?? canonicalize(entry.value) ?? "";
    if (entry.sensitive === true)
      marks.set(place, box.sign(`mark/${about}/${place}\0${content}`).slice(0, 16));
    return entry;
  });
  return marks;
}

/** Whether a stored definition (JSON) opens. */
export function opensWith(text: string, box: SecretBox, about: string): boolean {
  try {
    unseal(JSON.parse(text) as Definition, box, about);
    return true;
  } catch {
    return false;
  }
}

/** Whether a stored definition (JSON) has a sealed value. */
export function holdsSealed(text: string): boolean {
  let isSealed = false;
  mapEntries(JSON.parse(text) as Definition, (entry) => {
    isSealed ||= entry.sealed !== undefined;
    return entry;
  });
  return isSealed;
}

/** Also returns how many values none of the keys opens: those stay unchanged. */
export function reseal(
  text: string,
  keys: SecretKeys,
  about: string,
): { text: string; unreadable: number } {
  if (opensWith(text, secretBox([keys[0]], "variables"), about)) return { text, unreadable: 0 };
  const [current, any] = [secretBox([keys[0]], "variables"), secretBox(keys, "variables")];
  let [unreadable, changed] = [0, 0];
  const again = mapEntries(JSON.parse(text) as Definition, (entry, place) => {
    if (entry.sealed === undefined || opener(current, about)(entry, place).sealed === undefined)
      return entry;
    const plain = opener(any, about)(entry, place);
    if (plain.sealed === undefined) changed += 1;
    else unreadable += 1;
    return plain.sealed === undefined ? sealer(any, about)(plain, place) : entry;
  });
  return { text: changed === 0 ? text : JSON.stringify(again), unreadable };
}

/** The form for users: `{sensitive: true}` without a value. */
export const mask = <T extends Partial<Definition>>(definition: T): T =>
  mapEntries(definition, (entry) => (entry.sensitive === true ? { sensitive: true } : entry));

/** The form for runners: plain texts, and the names of those that no log may show. */
export function snapshotForRunner(snapshot: ConfigSnapshot): ClaimedSnapshot {
  const { environment, backend_config, ...rest } = snapshot;
  return {
    ...rest,
    ...plainTexts("environment", environment),
    ...plainTexts("backend_config", backend_config),
  };
}

function plainTexts(group: "environment" | "backend_config", texts: ConfigSnapshot[typeof group]) {
  if (texts === undefined) return {};
  const entries = Object.entries(texts);
  const sensitive = entries
    .filter(([, text]) => typeof text !== "string" && text.sensitive === true)
    .map(([name]) => name);
  return {
    [group]: Object.fromEntries(
      entries.map(([name, text]) => [name, typeof text === "string" ? text : (text.value ?? "")]),
    ),
    ...(sensitive.length > 0 ? { [`sensitive_${group}`]: sensitive } : {}),
  };
}

/**
 * SHA-256 over the canonical JSON (RFC 8785) of a snapshot, each sensitive value as HMAC-SHA-256
 * under a key of the server: from the hash alone a short secret cannot be guessed by trying values.
 */
export function configHash(snapshot: ConfigSnapshot, key: Uint8Array): string {
  const keyed = mapEntries(snapshot, (entry, place) =>
    entry.sensitive === true
      ? {
          sensitive: true,
          value: createHmac("sha256", key)
            .update(`${place}\0${canonicalize(entry.value) ?? ""}`)
            .digest("hex"),
        }
      : entry,
  );
  return hash("sha256", canonicalize(keyed) ?? "", "hex");
}
