/** Turns options into the fields of a configuration. */
import type { CreateConfiguration, Source } from "../../protocol/configurations.ts";
import type { ApprovalRule, WrittenApprovalRule } from "../../protocol/approvals.ts";
import {
  approvalCountLimit,
  parallelismLimit,
  timeoutSecondsLimit,
} from "../../protocol/limits.ts";
import type { Api } from "../api/api.ts";
import { ifReadable } from "../api/failures.ts";
import { find } from "../api/find.ts";
import { parseCount, parseWholeNumber } from "../api/pages.ts";
import { teamWords } from "../api/team.ts";
import type { Run } from "../run.ts";
import { refuseLesserRole } from "../teams/acting.ts";
import { CliError } from "../terminal/output.ts";
import { parseComingTime } from "../terminal/parse-time.ts";
import { shellWord } from "../../common/shell-word.ts";
import { uploadDirectory } from "./upload.ts";
import { checkDirectory, namedDirectory, type Place } from "./pack.ts";
import { noteRoot, pathIn, rootOf } from "./root.ts";
import { existingVarFiles, terraformFilesOf } from "./var-files.ts";
import { backendOf, readJson, valuesOf, type ValueOptions, type Values } from "./variables.ts";

/** The options that `configurations create`, `configurations update` and `up` share. */
export interface FieldOptions extends ValueOptions {
  readonly projectName?: string | undefined;
  readonly identity?: string | undefined;
  readonly label?: string[] | undefined;
  readonly sourceVarFile?: string[] | undefined;
  readonly parallelism?: string | undefined;
  readonly engine?: string | undefined;
  readonly engineVersion?: string | undefined;
  readonly workingDirectory?: string | undefined;
  readonly backend?: string | undefined;
  readonly timeout?: string | undefined;
}

interface SourceOptions {
  readonly git?: string | undefined;
  readonly ref?: string | undefined;
  readonly path?: string | undefined;
  readonly submodules?: boolean | undefined;
  readonly dir?: string | undefined;
  readonly file?: string | undefined;
}

interface ApprovalOptions {
  readonly approvals?: string | undefined;
  readonly approvalsFor?: ApprovalRule["when"] | undefined;
  readonly approvalsByAuthor?: boolean | undefined;
}

export interface ChangeOptions extends SourceOptions, FieldOptions, ApprovalOptions {
  readonly zone?: string | undefined;
  readonly rename?: string | undefined;
  readonly expiresAt?: string | undefined;
}

type Fields = Partial<Omit<CreateConfiguration, "name">>;
type Before = Values &
  Place &
  Pick<CreateConfiguration, "approval" | "backend" | "var_files"> & {
    /** The name of an existing configuration. */
    readonly name?: string;
    readonly source?: Source;
  };

/** Options for single variables and settings are applied to those in `before`. */
export async function changesOf(run: Run, given: ChangeOptions, before: Before): Promise<Fields> {
  const options = withRoot(run, given);
  const { zone, dir, expiresAt } = options;
  return defined({
    zone_id:
      zone && find(run.api, "zone", "zones", (await run.api.call("listZones")).zones, zone).id,
    submodules: options.submodules,
    approval: approvalOf(options, before.approval),
    expires_at: expiresAt === undefined ? undefined : parseComingTime("--expires-at", expiresAt),
    ...(await fieldsOf(run, options, before, dir)),
    // Last, so that nothing is uploaded if another option is wrong.
    source: await sourceOf(run, options, before),
  });
}

/**
 * `--dir` as `windlass up` uploads it: a directory with all that it uses, and where terraform runs.
 */
function withRoot(run: Run, options: ChangeOptions): ChangeOptions {
  const { dir, workingDirectory } = options;
  if (dir === undefined || workingDirectory !== undefined) return options;
  const directory = namedDirectory(dir);
  const root = rootOf(directory);
  if (root === directory) return options;
  noteRoot(run, directory, root);
  return { ...options, dir: root, workingDirectory: pathIn(root, directory) };
}

/** Without zone and source. `root` is the directory that is uploaded, if one is. */
export async function fieldsOf(
  run: Run,
  options: FieldOptions,
  before: Before,
  root: string | undefined,
): Promise<Fields> {
  const { identity, engine, backend, timeout } = options;
  const fields = defined({
    cloud_identity_id: identity && (await identityOf(run, identity)),
    project_name: options.projectName,
    labels: options.label?.filter(Boolean),
    engine: engine as CreateConfiguration["engine"],
    engine_version: options.engineVersion === "" ? null : options.engineVersion,
    working_directory: options.workingDirectory,
    backend: backend === undefined ? undefined : backendOf(backend),
    var_files: varFilesOf(options, root),
    parallelism: countOf("--parallelism", options.parallelism, parallelismLimit),
    timeout_seconds: countOf("--timeout", timeout, timeoutSecondsLimit),
    ...(await valuesOf(options, before)),
  });
  refuseSettings(run, fields, before);
  return fields;
}

/** Throws `CliError` if the state is managed and settings of a declared backend are stored. */
function refuseSettings(
  { api }: Run,
  { backend, backend_config }: Fields,
  { name, backend_config: stored = {}, ...before }: Before,
): void {
  const settings = Object.keys(backend_config ?? stored).filter((one) =>
    Object.hasOwn(stored, one),
  );
  const isManaged = (backend === undefined ? before.backend : backend) === "managed";
  if (!isManaged || name === undefined || settings.length === 0) return;
  const unset = settings.map((one) => ` --unset-backend-config ${shellWord(one)}`).join("");
  throw new CliError(
    `The configuration "${name}" has settings of the backend that its files declare (${settings.join(", ")}), and a managed state is in no such backend. To remove them: windlass configurations update ${shellWord(name)} --backend managed${unset}${teamWords(api.team)}`,
  );
}

const countOf = (option: string, text: string | undefined, limit: number): number | undefined =>
  text === undefined ? undefined : parseCount(option, text, limit);

const defined = (fields: object): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** The rule, in which the options replace parts of the one before; null: none. */
function approvalOf(
  { approvals, approvalsFor, approvalsByAuthor }: ApprovalOptions,
  before: WrittenApprovalRule | null = null,
): WrittenApprovalRule | null | undefined {
  const count =
    approvals === undefined
      ? undefined
      : parseWholeNumber("--approvals", approvals, approvalCountLimit);
  const changes = defined({ when: approvalsFor, by_author: approvalsByAuthor, count });
  if (Object.keys(changes).length === 0) return undefined;
  if (before === null && count === undefined && approvalsFor === undefined)
    throw new CliError("There is no approval rule to change. To make one, pass --approvals.", 2);
  if (count !== 0) return { when: "always", ...before, ...changes };
  if (approvalsFor === undefined && approvalsByAuthor === undefined) return null;
  throw new CliError(
    "--approvals 0 removes the rule. Pass no other option of the rule with it.",
    2,
  );
}

/** Files of the source, then those of this machine that are uploaded with it. */
function varFilesOf(options: FieldOptions, root: string | undefined): string[] | undefined {
  const own = terraformFilesOf(options, root);
  if (options.sourceVarFile === undefined && own.length === 0) return undefined;
  return [...(options.sourceVarFile ?? []).filter(Boolean), ...own];
}

/** The options change parts of a git source; an empty `--ref` or `--path` removes it. */
async function sourceOf(
  run: Run,
  options: ChangeOptions,
  { source: before, ...place }: Before,
): Promise<Source | undefined> {
  const { git, ref, path, dir } = options;
  if (git !== undefined && dir !== undefined)
    throw new CliError("Pass either --git or --dir, not both.", 2);
  const known = before?.type === "git" ? before : undefined;
  const isChanged = git !== undefined || ref !== undefined || path !== undefined;
  const url = git ?? known?.url;
  if (isChanged && (url === undefined || dir !== undefined))
    throw new CliError("--ref and --path need --git.", 2);
  if (dir !== undefined) {
    const directory = namedDirectory(dir);
    const changed = changedPlace(options, place);
    checkDirectory(directory, changed);
    const varFiles = varFilesOf(options, dir) ?? place.var_files ?? [];
    const included = existingVarFiles(directory, varFiles);
    // The upload alone would be allowed to a planner.
    await refuseLesserRole(run, "deployer");
    return uploadDirectory(run, directory, included, changed.working_directory);
  }
  if (!isChanged || url === undefined) return undefined;
  const kept = { ref: ref ?? known?.ref, path: path ?? known?.path };
  return {
    type: "git",
    url,
    ...(kept.ref ? { ref: kept.ref } : {}),
    ...(kept.path ? { path: kept.path } : {}),
  };
}

/** Where terraform runs after the change. */
export const changedPlace = ({ workingDirectory, engine }: FieldOptions, before: Place): Place => ({
  working_directory: workingDirectory ?? before.working_directory,
  engine: (engine as Place["engine"]) ?? before.engine,
});

/** The server checks these fields. */
export function placeIn({ working_directory, engine }: Record<string, unknown>): Place {
  return {
    working_directory: typeof working_directory === "string" ? working_directory : undefined,
    engine: engine as Place["engine"],
  };
}

export function fileOf({ file }: SourceOptions): Record<string, unknown> {
  if (file === undefined) return {};
  const value = readJson(file);
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new CliError(`"${file}" must be a JSON object with the fields of a configuration.`, 2);
}

const identityOf = async ({ api }: Run, name: string): Promise<string | null> =>
  name === "none" ? null : find(api, "identity", "identities", await identitiesOf(api), name).id;

/** All of the space; for someone with roles in zones only, those that their configurations use. */
async function identitiesOf(api: Api): Promise<{ readonly id: string; readonly name: string }[]> {
  const listed = await ifReadable(api.call("listCloudIdentities"));
  if (listed) return listed.cloud_identities;
  const { configurations } = await api.call("listConfigurations");
  const names = configurations.flatMap((one) =>
    one.cloud_identity_id && one.cloud_identity_name
      ? [[one.cloud_identity_id, one.cloud_identity_name] as const]
      : [],
  );
  return [...new Map(names)].map(([id, name]) => ({ id, name }));
}
