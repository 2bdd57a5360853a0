/** The verbs of `windlass configurations`. */
import type {
  Configuration,
  CreateConfiguration,
  Source,
  TextValue,
} from "../../protocol/configurations.ts";
import { basename, resolve } from "node:path";
import { confirm } from "../terminal/ask.ts";
import { find } from "../api/find.ts";
import { CliError, print } from "../terminal/output.ts";
import type { Run } from "../run.ts";
import { ago, time } from "../terminal/times.ts";
import { outputLines } from "../jobs/outputs.ts";
import { deployedInShort, deployedText } from "./deployed.ts";
import { configurationOf } from "./find.ts";
import { uploadDirectory } from "./upload.ts";
import {
  backendOf,
  namesVariables,
  readJson,
  textsOf,
  variablesOf,
  type VariableOptions,
} from "./variables.ts";

export interface SourceOptions {
  readonly git?: string | undefined;
  readonly ref?: string | undefined;
  readonly path?: string | undefined;
  readonly submodules?: boolean | undefined;
  readonly dir?: string | undefined;
  readonly file?: string | undefined;
}

export interface ChangeOptions extends SourceOptions, VariableOptions {
  readonly zone?: string | undefined;
  readonly projectName?: string | undefined;
  readonly identity?: string | undefined;
  readonly label?: string[] | undefined;
  readonly env?: string[] | undefined;
  readonly sensitiveEnv?: string[] | undefined;
  readonly sourceVarFile?: string[] | undefined;
  readonly backendConfig?: string[] | undefined;
  readonly sensitiveBackendConfig?: string[] | undefined;
  readonly parallelism?: string | undefined;
  readonly engine?: string | undefined;
  readonly engineVersion?: string | undefined;
  readonly workingDirectory?: string | undefined;
  readonly backend?: string | undefined;
  readonly timeout?: string | undefined;
  readonly rename?: string | undefined;
}

/** `configurations list`. */
export async function list(run: Run): Promise<void> {
  const [{ configurations }, { zones }] = await Promise.all([
    run.api.call("listConfigurations"),
    run.json ? { zones: [] } : run.api.call("listZones"),
  ]);
  const zoneNames = new Map(zones.map(({ id, name }) => [id, name]));
  run.list(
    configurations,
    {
      NAME: ({ name }) => name,
      ZONE: ({ zone_id }) => zoneNames.get(zone_id),
      STATUS: ({ status }) => status,
      DEPLOYED: ({ deployed }) => deployed && deployedInShort(deployed),
      SOURCE: ({ source }) => sourceText(source),
      CHANGED: ({ updated_at }) => ago(updated_at),
      ID: ({ id }) => id,
    },
    "There are no configurations yet. To create one: windlass configurations create --help",
  );
}

/** `configurations show`. */
export async function show(run: Run, name: string): Promise<void> {
  showConfiguration(run, await configurationOf(run.api, name));
}

/** `configurations create`. */
export async function create(
  run: Run,
  name: string | undefined,
  options: ChangeOptions,
): Promise<void> {
  const file = fileOf(options);
  const named = name ?? (file["name"] as string | undefined) ?? directoryName(options.dir);
  if (named === undefined) throw new CliError("Missing name. Pass it as the first argument.", 2);
  const { source = file["source"], ...changes } = await changesOf(run, options, {
    variables: file["variables"] as never,
    environment: file["environment"] as never,
    backend_config: file["backend_config"] as never,
  });
  if (source === undefined)
    throw new CliError("Missing source. Pass --git URL, --dir DIRECTORY or --file FILE.", 2);
  const zone_id =
    changes.zone_id ?? (file["zone_id"] as string | undefined) ?? (await onlyZone(run));
  const body = { ...file, ...changes, name: named, zone_id, source } as CreateConfiguration;
  const configuration = await run.api.call("createConfiguration", { body });
  showConfiguration(run, configuration);
  run.done(`Next: windlass jobs plan ${shellWord(named)} --wait`);
}

/** `configurations update`: changes only the fields that the options name. */
export async function update(run: Run, name: string, options: ChangeOptions): Promise<void> {
  const before = await configurationOf(run.api, name);
  const changes = await changesOf(run, options, before);
  const body = {
    ...fileOf(options),
    ...changes,
    ...(options.rename === undefined ? {} : { name: options.rename }),
  };
  if (Object.keys(body).length === 0)
    throw new CliError("Nothing to change. For help: windlass configurations update --help", 2);
  showConfiguration(
    run,
    await run.api.call("updateConfiguration", { params: { name: before.id }, body }),
  );
}

/** `configurations delete`: asks for confirmation. */
export async function remove(
  run: Run,
  name: string,
  options: { yes?: true | undefined },
): Promise<void> {
  const { id, name: found } = await configurationOf(run.api, name);
  await confirm(`Delete the configuration "${found}" and all versions of its state?`, options);
  await run.api.call("deleteConfiguration", { params: { name: id } });
  run.done(`The configuration "${found}" is deleted. Its jobs are kept.`);
}

/**
 * Returns the fields that the options name. Options for single variables and settings are applied
 * to those in `before`.
 */
async function changesOf(
  run: Run,
  options: ChangeOptions,
  before: Pick<CreateConfiguration, "variables" | "environment" | "backend_config">,
): Promise<Partial<Omit<CreateConfiguration, "name">>> {
  const { zone, identity, engine, backend, timeout } = options;
  const asking = [options.sensitive, options.sensitiveEnv, options.sensitiveBackendConfig];
  if (asking.filter(Boolean).length > 1 && !process.stdin.isTTY)
    throw new CliError(
      "--sensitive, --sensitive-env and --sensitive-backend-config all read stdin. Use one of them at a time.",
      2,
    );
  const changes = {
    zone_id: zone && find("zone", "zones", (await run.api.call("listZones")).zones, zone).id,
    cloud_identity_id: identity && (await identityOf(run, identity)),
    project_name: options.projectName,
    labels: options.label?.filter(Boolean),
    engine: engine as CreateConfiguration["engine"],
    engine_version: options.engineVersion,
    working_directory: options.workingDirectory,
    backend: backend === undefined ? undefined : backendOf(backend),
    submodules: options.submodules,
    var_files: options.sourceVarFile?.filter(Boolean),
    backend_config: await textsOf(
      "--backend-config",
      options.backendConfig,
      options.sensitiveBackendConfig,
      before.backend_config,
    ),
    parallelism: options.parallelism === undefined ? undefined : Number(options.parallelism),
    timeout_seconds: timeout === undefined ? undefined : Number(timeout),
    variables: namesVariables(options) ? await variablesOf(options, before.variables) : undefined,
    environment: await textsOf("--env", options.env, options.sensitiveEnv, before.environment),
    // Last, so that nothing is uploaded if another option is wrong.
    source: await sourceOf(run, options),
  };
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
}

async function sourceOf(
  run: Run,
  { git, ref, path, dir }: SourceOptions,
): Promise<Source | undefined> {
  if (git !== undefined && dir !== undefined)
    throw new CliError("Pass either --git or --dir, not both.", 2);
  if (git === undefined && (ref !== undefined || path !== undefined))
    throw new CliError("--ref and --path need --git.", 2);
  if (dir !== undefined) return uploadDirectory(run, dir);
  if (git === undefined) return undefined;
  return {
    type: "git",
    url: git,
    ...(ref === undefined ? {} : { ref }),
    ...(path === undefined ? {} : { path }),
  };
}

function fileOf({ file }: SourceOptions): Record<string, unknown> {
  if (file === undefined) return {};
  const value = readJson(file);
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new CliError(`${file} must be a JSON object with the fields of a configuration.`, 2);
}

const directoryName = (directory: string | undefined): string | undefined =>
  directory === undefined ? undefined : basename(resolve(directory));

async function onlyZone({ api }: Run): Promise<string> {
  const { zones } = await api.call("listZones");
  if (zones.length === 1 && zones[0]) return zones[0].id;
  throw new CliError(
    zones.length === 0
      ? "There is no zone yet. To create one: windlass zones create NAME"
      : `You have several zones. Pass --zone ${zones.map(({ name }) => name).join(" or ")}`,
    2,
  );
}

const identityOf = async ({ api }: Run, name: string): Promise<string | null> =>
  name === "none"
    ? null
    : find("identity", "identities", (await api.call("listCloudIdentities")).cloud_identities, name)
        .id;

const shellWord = (text: string): string =>
  /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

function sourceText(source: Source): string {
  if (source.type === "archive") return `archive ${source.sha256.slice(0, 12)}`;
  if (source.type === "inline") return `inline, ${Object.keys(source.files).length} files`;
  return (
    [source.url, source.path].filter(Boolean).join("//") + (source.ref ? `@${source.ref}` : "")
  );
}

const textLines = (texts: Readonly<Record<string, TextValue>> = {}): string =>
  Object.entries(texts)
    .map(([name, text]) => `${name}=${shownText(text)}`)
    .join("\n");

const shownText = (text: TextValue): string =>
  typeof text === "string" ? text : text.sensitive ? "(sensitive)" : (text.value ?? "");

const stateWords = {
  own: "in the backend that its files declare",
  managed: "managed by the control plane",
  auto: "in the backend that its files declare, else managed by the control plane",
};

function showConfiguration(run: Run, it: Configuration): void {
  const variables = Object.entries(it.variables ?? {}).map(
    ([name, { value, sensitive }]) =>
      `${name} = ${sensitive ? "(sensitive)" : typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  run.show(it, {
    name: it.name,
    id: it.id,
    project: it.project_name === it.name ? null : it.project_name,
    zone: it.zone_id,
    status: it.status,
    error: it.error_message,
    deployed: it.deployed && deployedText(it.deployed),
    source: sourceText(it.source),
    "made from": it.origin,
    submodules: it.submodules ? "fetched too" : null,
    engine: [it.engine, it.engine_version].filter(Boolean).join(" "),
    directory: it.working_directory,
    state: stateWords[it.backend ?? "auto"],
    identity: it.cloud_identity_id,
    labels: it.labels.join(", "),
    variables: variables.join("\n"),
    environment: textLines(it.environment),
    "var files": it.var_files?.join("\n"),
    "backend settings": textLines(it.backend_config),
    parallelism: it.parallelism?.toString(),
    changed: `${time(it.updated_at)} (${ago(it.updated_at)})`,
  });
  if (run.json || it.components.length === 0) return;
  const outputs = Object.fromEntries(it.components.map((one) => [one.name, one]));
  for (const line of ["", "Outputs:", ...outputLines({ execution_metadata: { outputs } })])
    print(line);
}
