/** `windlass up`: uploads, plans and deploys a directory. */
import { statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Configuration, CreateConfiguration, Zone } from "../../protocol/configurations.ts";
import type { CreateJob, Job } from "../../protocol/jobs.ts";
import { approvalRuleText } from "../../protocol/words.ts";
import { canAsk } from "../terminal/ask.ts";
import { findConfiguration, refuseHere } from "../configurations/find.ts";
import { uploadDirectory } from "../configurations/upload.ts";
import { changedPlace, fieldsOf, type FieldOptions } from "../configurations/changes.ts";
import { noteLocalState } from "../configurations/local-state.ts";
import { checkDirectory, namedDirectory, requireDirectory } from "../configurations/pack.ts";
import { noteRoot, pathIn, rootOf } from "../configurations/root.ts";
import { isTerraform } from "../configurations/var-files.ts";
import { isRefusal, withRemedy } from "../api/failures.ts";
import { find } from "../api/find.ts";
import { teamWords } from "../api/team.ts";
import { approvalNote } from "../jobs/approvals.ts";
import { outputsOf, printOutputs, printOutputsOf } from "../jobs/outputs.ts";
import { confirmPlan } from "../plans/confirm.ts";
import { planView } from "../plans/plan-view.ts";
import { consoleAddress, showJob } from "../jobs/read.ts";
import { reportOutcome, watchJob } from "../jobs/watch.ts";
import { CliError, print, say } from "../terminal/output.ts";
import { shellWord } from "../terminal/shell-word.ts";
import type { Run } from "../run.ts";
import { actingTeam, refuseLesserRole } from "../teams/acting.ts";
import { deployCommand, followCommand } from "../jobs/words.ts";
import { inLinkedSpace } from "./linked-space.ts";
import { confirmOrigin, refuseSecond } from "./confirm-origin.ts";
import { readOrigins, writeLink } from "./origin.ts";

import { noteShellVariables } from "./shell-variables.ts";
import { withChanged, withCreated } from "./what-stays.ts";
import { createZone, findZone } from "./zone.ts";

export interface UpOptions extends FieldOptions {
  readonly name?: string | undefined;
  readonly zone?: string | undefined;
  readonly debug?: true | undefined;
  readonly yes?: true | undefined;
  /** False: return when the deployment is queued. */
  readonly wait: boolean;
  readonly adopt?: true | undefined;
}

/** Uploads, plans and deploys the directory. Throws `CliError` if a job does not succeed. */
export async function up(current: Run, given: string, options: UpOptions): Promise<void> {
  const directory = namedDirectory(given);
  requireDirectory(directory);
  const reading = readOrigins(directory);
  const run = await inLinkedSpace(current, reading, { namesOthers: true });
  const origins = await reading;
  const team = await actingTeam(run);
  if (team) run.done(`In the team "${team.name}" (${team.slug}), as ${team.role}.`);
  // Refused before anything is packed.
  await refuseLesserRole(run, "deployer", team);
  const configured = await configure(run, directory, origins, options);
  const { configuration, createdIn } = configured;
  const planned = await planAndConfirm(run, directory, configured, options).catch(
    (error: unknown) => {
      throw createdIn === undefined
        ? withChanged(run, error, configuration.name, configured.changed)
        : withCreated(
            run,
            error,
            `The configuration "${configuration.name}" was created in the zone "${createdIn}" and stays`,
            `configurations delete ${shellWord(configuration.name)}`,
          );
    },
  );
  if (planned !== undefined) await deploy(run, planned, configuration, options);
}

const objectKeys = <T extends object>(fields: T) => Object.keys(fields) as (keyof T)[];

/** What is planned. The configuration takes it over with a deployment of the plan. */
type Files = Required<Pick<CreateJob, "source">> &
  Pick<CreateJob, "working_directory" | "var_files">;

interface Configured {
  readonly configuration: Configuration;
  readonly files: Files;
  /** The fields that this run has changed, other than the files. */
  readonly changed?: readonly string[];
  /** The name of its zone, if this run created the configuration. */
  readonly createdIn?: string;
}

/** Returns the PLAN job that is to be deployed, if any. */
async function planAndConfirm(
  run: Run,
  directory: string,
  configured: Configured,
  options: UpOptions,
): Promise<Job | undefined> {
  const { configuration, files } = configured;
  const folder = join(directory, options.workingDirectory ?? "");
  const note = await noteLocalState(run, folder, configuration, options);
  noteShellVariables(run, folder, options);
  const body = { job_type: "PLAN" as const, configuration_id: configuration.id, ...files };
  const planned = await runJob(run, { ...body, ...debugOf(options) });
  return (await showAndConfirm(run, planned, configured, options, note)) ? planned : undefined;
}

async function deploy(
  run: Run,
  { id: plan_job_id }: Job,
  { id: configuration_id }: Configuration,
  options: UpOptions,
): Promise<void> {
  const body = { job_type: "DEPLOY" as const, configuration_id, plan_job_id, ...debugOf(options) };
  const deployed = await runJob(run, body, options).catch((error: unknown) => {
    throw withRemedy(error, { plan_is_stale: "Run windlass up again" });
  });
  if (!options.wait) return;
  if (run.json) return showJob(run, deployed);
  await printOutputsOf(run, deployed);
}

const debugOf = ({ debug }: UpOptions): Pick<CreateJob, "debug"> => (debug ? { debug } : {});

/**
 * Uploads the directory and finds the configuration of this name; creates it and its zone if
 * needed. An existing one keeps its files until the plan is deployed.
 */
async function configure(
  run: Run,
  directory: string,
  origins: readonly string[],
  options: UpOptions,
): Promise<Configured> {
  const name = options.name ?? basename(resolve(directory));
  refuseHere(name);
  const root = options.workingDirectory === undefined ? rootOf(directory) : directory;
  const before = await findConfiguration(run.api, name);
  if (before) refuseOtherSource(before);
  const place = placeOf(directory, root, options, before);
  // Before any question, and before anything is created.
  checkDirectory(root, changedPlace(options, { ...before, ...place }), (other) => {
    const folder = shellWord(join(directory, other));
    return `Pass the directory in which it runs, such as: windlass up ${folder}`;
  });
  if (before) await confirmOrigin(before, origins, options);
  else if (options.name === undefined) await refuseSecond(run, name, origins);
  const zone = before ? undefined : await findZone(run, options.zone);
  if (before && options.zone !== undefined) {
    const { zones } = await run.api.call("listZones");
    if (find(run.api, "zone", "zones", zones, options.zone).id !== before.zone_id)
      throw new CliError(
        `The configuration "${name}" is not in the zone "${options.zone}". Pass another --name.`,
      );
  }
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
  if (Object.keys(others).length === 0) return { configuration: found, files };
  const change = { params: { name: found.id }, body: others };
  const configuration = await run.api.call("updateConfiguration", change);
  run.done(`Configuration "${name}" updated.`);
  const changed = objectKeys(others)
    .filter((field) => field !== "origin")
    .filter((field) => !isDeepStrictEqual(found[field], configuration[field]));
  return { configuration, files, changed };
}

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

/**
 * Creates the configuration, and its zone if there is none. Returns the configuration, without `createdIn`, that another
 * command has just created with this name.
 */
async function create(
  run: Run,
  name: string,
  existing: Zone | undefined,
  options: UpOptions,
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
  options: UpOptions,
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

function refuseOtherSource({ name, source: { type } }: Configuration): void {
  if (type !== "archive")
    throw new CliError(
      `The configuration "${name}" has a source of type ${type}, not an uploaded directory. Pass another --name.`,
    );
}

/** Runs a job to its end, unless `wait` is false. Throws `CliError` unless it succeeds. */
async function runJob(run: Run, body: CreateJob, { wait = true } = {}): Promise<Job> {
  const queued = await run.api.call("createJob", { body });
  const note = await approvalNote(run, queued);
  if (!wait) {
    await showJob(run, queued);
    run.done(`Queued. Nothing is deployed yet. To follow it: ${followCommand(run.api, queued)}`);
  } else if (note === undefined) run.done(`In the console: ${consoleAddress(run, queued)}`);
  if (note !== undefined) run.done(note);
  if (!wait) return queued;
  const job = await watchJob(run, queued);
  if (run.json && job.status !== "SUCCESS") await showJob(run, job);
  await reportOutcome(run, job, { again: "run windlass up again.", set: "add to the command:" });
  return job;
}

/**
 * Says what the deployment of a plan without changes is for; undefined: for nothing. The state may be
 * elsewhere, so that only the runner reads its outputs. And files that change nothing now may decide
 * what later jobs do, such as a provisioner of a destruction.
 */
function useOfDeployment(
  { deployed, source, working_directory, var_files }: Configuration,
  files: Files,
): string | undefined {
  if (!deployed) return "A deployment of this plan changes no resource, and records the outputs";
  const before = { source, working_directory: working_directory ?? "", var_files: var_files ?? [] };
  return isDeepStrictEqual(before, { ...before, ...files })
    ? undefined
    : "A deployment of this plan changes no resource, and makes these files the source of later jobs";
}

/** Shows the plan and asks for confirmation. Returns false if there is nothing to deploy. */
async function showAndConfirm(
  run: Run,
  planned: Job,
  { configuration: earlier, files }: Configured,
  options: UpOptions,
  note: string | undefined,
): Promise<boolean> {
  let configuration = earlier;
  const { plan_summary } = await run.api.call("getPlanSummary", { params: { id: planned.id } });
  const out = run.json ? say : print;
  // The values are in terraform's own plan, just above.
  const lines = plan_summary ? planView(plan_summary, { attributes: false }) : [];
  if (plan_summary) for (const line of ["", ...lines]) out(line);
  if (plan_summary?.applyable === false) {
    let use = useOfDeployment(configuration, files);
    if (use !== undefined) {
      // While the plan waited, another job may have deployed these files.
      configuration = await run.api.call("getConfiguration", { params: { name: earlier.id } });
      use = useOfDeployment(configuration, files);
    }
    if (use === undefined || (!options.yes && !canAsk())) {
      // Nothing is deployed, so the outputs are those of the state.
      const outputs = outputsOf(configuration);
      if (run.json) await showJob(run, { ...planned, execution_metadata: outputs });
      else printOutputs(run, outputs, configuration);
      if (use !== undefined)
        run.done(`${use}. Pass --yes for that, or run: ${deployCommand(run.api, planned)}`);
      // A user has stored the state, and the server could not read its outputs.
      else if (configuration.deployed?.job_id === null && configuration.components.length === 0)
        run.done(
          `To record the outputs of this state, run: windlass jobs deploy ${shellWord(configuration.name)} --wait${teamWords(run.api.team)}`,
        );
      return false;
    }
    out(`${use}.`);
  }
  if (plan_summary) out("");
  if (run.json && !options.yes && !canAsk()) await showJob(run, planned);
  if (configuration.approval) out(approvalRuleText(configuration.approval));
  // Its first time is far above, before terraform's output.
  if (note !== undefined) out(note);
  await confirmPlan(run, "Deploy this plan?", planned, options);
  return true;
}
