/** The configuration of `windlass up`: found by its name, or created, with its zone. */
import { statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type {
  Configuration,
  CreateConfiguration,
  Variable,
  Zone,
} from "../../protocol/configurations.ts";
import type { CreateJob } from "../../protocol/jobs.ts";
import { findConfiguration, refuseHere } from "../configurations/find.ts";
import { uploadDirectory } from "../configurations/upload.ts";
import { changedPlace, fieldsOf, type FieldOptions } from "../configurations/changes.ts";
import { checkDirectory } from "../configurations/pack.ts";
import { noteRoot, pathIn, rootOf } from "../configurations/root.ts";
import { isTerraform } from "../configurations/var-files.ts";
import { isRefusal } from "../api/failures.ts";
import { CliError } from "../terminal/output.ts";
import { shellWord } from "../../common/shell-word.ts";
import type { Run } from "../run.ts";
import { confirmOrigin, refuseSecond } from "./confirm-origin.ts";
import { writeLink } from "./origin.ts";
import { withCreated } from "./notes.ts";
import { createZone, findZone, refuseOtherZone } from "./zone.ts";

export interface ConfigureOptions extends FieldOptions {
  readonly name?: string | undefined;
  readonly zone?: string | undefined;
  readonly adopt?: true | undefined;
}

/** What is planned. A deployed configuration takes it over with a deployment of the plan. */
export type Files = Required<Pick<CreateJob, "source">> &
  Pick<CreateJob, "working_directory" | "var_files">;

export interface Configured {
  readonly configuration: Configuration;
  readonly files: Files;
  /** The fields that this run has changed, other than the files. */
  readonly changed?: readonly string[];
  /** The fields that it gets only with a deployment, with the files. */
  readonly pending?: readonly string[];
  /** The name of its zone, if this run created the configuration. */
  readonly createdIn?: string;
}

/**
 * Uploads the directory and finds or creates the configuration, and its zone. A deployed one keeps
 * its files until the plan is deployed.
 */
export async function configure(
  run: Run,
  directory: string,
  origins: readonly string[],
  options: ConfigureOptions,
): Promise<Configured> {
  const name = options.name ?? basename(resolve(directory));
  refuseHere(name);
  const root = options.workingDirectory === undefined ? rootOf(directory) : directory;
  const before = await findConfiguration(run.api, name);
  if (before) refuseOtherSource(before);
  const place = placeOf(directory, root, options, before);
  // Before any question, and before anything is created.
  checkDirectory(root, changedPlace(options, { ...before, ...place }), (other) => {
    const place = shellWord(join(directory, other));
    return `Pass the directory in which it runs, such as: windlass up ${place}`;
  });
  const isAdopted = before !== undefined && options.adopt;
  if (options.name === undefined && !isAdopted) await refuseSecond(run, name, origins, before);
  if (before) await confirmOrigin(before, origins, options);
  const zone = before ? undefined : await findZone(run, options.zone);
  if (before && options.zone !== undefined) await refuseOtherZone(run, before, options.zone);
  if (root !== directory) noteRoot(run, directory, root);
  const given = await fieldsOf(run, options, before ?? {}, root);
  const varFiles = given.var_files ?? before?.var_files ?? [];
  refuseMissing(name, root, varFiles);
  const source = await uploadDirectory(
    run,
    root,
    varFiles.filter(isTerraform),
    place.working_directory ?? options.workingDirectory ?? before?.working_directory,
  );
  const made = origins[0] ?? writeLink(directory);
  const origin = made === undefined || made === before?.origin ? {} : { origin: made };
  const { working_directory, var_files, ...others } = { ...place, ...given, ...origin };
  const named = {
    ...(working_directory === undefined ? {} : { working_directory }),
    ...(var_files ? { var_files } : {}),
  };
  const files = { source, ...named };
  const { configuration: found, createdIn } = before
    ? { configuration: before }
    : await create(run, name, zone, options, { ...files, ...others });
  if (createdIn !== undefined) return { configuration: found, files, createdIn };
  if (!before) {
    refuseOtherSource(found);
    await confirmOrigin(found, made === undefined ? [] : [made], options);
  }
  const different = differing(found, files);
  // Nothing depends on the files of one that was never deployed.
  const isKept = Object.keys(different).length > 0 && !(await wasDeployed(run, found));
  const body = { ...others, ...(isKept ? different : {}) };
  const places = objectKeys(different).filter((field) => field !== "source");
  const pending = isKept
    ? []
    : places.filter((field) => !isDeepStrictEqual(found[field], files[field]));
  if (Object.keys(body).length === 0) return { configuration: found, files, pending };
  const change = { params: { name: found.id }, body };
  const configuration = await run.api.call("updateConfiguration", change);
  run.done(`Configuration "${name}" updated.`);
  const changed = objectKeys(others)
    .filter((field) => field !== "origin")
    .filter(
      (field) => !isDeepStrictEqual(found[field], configuration[field]) || hasSecret(others[field]),
    );
  return { configuration, files, changed, pending };
}

/** Whether a field gives a value to something sensitive: no response shows what it was before. */
const hasSecret = (field: unknown): boolean =>
  Object.values((field ?? {}) as Record<string, Partial<Variable> | null>).some(
    (one) => one?.sensitive === true && one.value !== undefined,
  );

/** Whether a job has begun to deploy it: the state alone may be one that a user has pushed. */
async function wasDeployed(run: Run, { id, deployed }: Configuration): Promise<boolean> {
  if (deployed === null) return false;
  if (deployed.job_id !== null) return true;
  const query = { configuration: id, job_type: "DEPLOY", limit: 1 } as const;
  return (await run.api.call("listJobs", { query })).jobs.length > 0;
}

/** The files, if the configuration has others. */
const differing = (
  { source, working_directory, var_files }: Configuration,
  files: Files,
): Partial<Files> => {
  const before = { source, working_directory, var_files };
  return isDeepStrictEqual(before, { ...before, ...files }) ? {} : files;
};

/** A runner would refuse the plan. The files may be in `.gitignore`, so another checkout lacks them. */
function refuseMissing(name: string, root: string, varFiles: readonly string[]): void {
  const missing = varFiles.filter(
    (path) => !statSync(join(root, path), { throwIfNoEntry: false })?.isFile(),
  );
  if (missing.length > 0)
    throw new CliError(
      `The configuration "${name}" reads variables from ${missing.join(" and ")}, which ${missing.length === 1 ? "is" : "are"} not in ${root}. Put ${missing.length === 1 ? "it" : "them"} there, pass other files with --var-file, or none: --source-var-file ''`,
      2,
    );
}

/** Returns it without `createdIn` if another command has just created it. */
async function create(
  run: Run,
  name: string,
  existing: Zone | undefined,
  options: ConfigureOptions,
  fields: Omit<CreateConfiguration, "name" | "zone_id">,
): Promise<Omit<Configured, "files">> {
  const zone = existing ?? (await createZone(run, options.zone));
  const body = { name, zone_id: zone.id, ...fields };
  try {
    const configuration = await run.api.call("createConfiguration", { body });
    run.done(`Configuration "${name}" created in zone "${zone.name}".`);
    return { configuration, createdIn: zone.name };
  } catch (error) {
    const other = isRefusal(error, "name_taken") && (await findConfiguration(run.api, name));
    if (other) return { configuration: other };
    if (existing) throw error;
    const what = `The zone "${zone.name}" was created and stays`;
    throw withCreated(run, error, what, `zones delete ${shellWord(zone.name)}`);
  }
}

/** Where terraform runs in what is uploaded, if that changes. */
function placeOf(
  directory: string,
  root: string,
  options: ConfigureOptions,
  before: Configuration | undefined,
): { readonly working_directory?: string } {
  if (options.workingDirectory !== undefined) return {};
  const working_directory = pathIn(resolve(root), directory);
  const earlier = before?.working_directory ?? "";
  if (working_directory === "") {
    // The configuration may name a directory in this one.
    const isThere = statSync(join(directory, earlier), { throwIfNoEntry: false })?.isDirectory();
    return isThere ? {} : { working_directory };
  }
  return working_directory === earlier ? {} : { working_directory };
}

function refuseOtherSource({ name, source: { type }, follow }: Configuration): void {
  if (follow)
    throw new CliError(
      `The configuration "${name}" follows ${follow.branch} of ${follow.repository}: push a commit there instead, or pass another --name.`,
    );
  if (type !== "archive")
    throw new CliError(
      `The configuration "${name}" has a source of type ${type}, not an uploaded directory. Pass another --name.`,
    );
}

const objectKeys = <T extends object>(fields: T) => Object.keys(fields) as (keyof T)[];
