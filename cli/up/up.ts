/** `windlass up`: a directory of terraform, uploaded, planned, looked at, deployed. Nothing is remembered on this machine. */
import { basename, resolve } from "node:path";
import type { Configuration, Zone } from "../../protocol/configurations.ts";
import type { CreateJob, Job } from "../../protocol/jobs.ts";
import { canAsk, confirm } from "../terminal/ask.ts";
import { maybeConfiguration } from "../configurations/find.ts";
import { uploadDirectory } from "../configurations/upload.ts";
import {
  backendOf,
  namesVariables,
  variablesOf,
  type VariableOptions,
} from "../configurations/variables.ts";
import { find } from "../api/find.ts";
import { outputLines } from "../jobs/outputs.ts";
import { planView } from "../plans/plan-view.ts";
import { showJob } from "../jobs/read.ts";
import { mirror, watchJob } from "../jobs/watch.ts";
import { Failure, print, say } from "../terminal/output.ts";
import type { Run } from "../run.ts";

export interface UpOptions extends VariableOptions {
  readonly name?: string | undefined;
  readonly zone?: string | undefined;
  readonly label?: string[] | undefined;
  readonly backend?: string | undefined;
  readonly debug?: true | undefined;
  readonly yes?: true | undefined;
}

/** Brings the directory up; the exit code is the last job's. */
export async function up(run: Run, directory: string, options: UpOptions): Promise<void> {
  const configuration = await configure(run, directory, options);
  const configuration_id = configuration.id;
  const debug = options.debug ? { debug: true } : {};
  const planned = await runJob(run, { job_type: "PLAN", configuration_id, ...debug });
  if (!(await isWanted(run, planned, configuration, options))) return;
  const body = { job_type: "DEPLOY" as const, configuration_id, plan_job_id: planned.id, ...debug };
  const deployed = await runJob(run, body);
  if (run.json) return showJob(run, deployed);
  showOutputs(outputLines(deployed));
}

/** The configuration of this name with the directory as it is now; made, with its zone, where there is none. */
async function configure(run: Run, directory: string, options: UpOptions): Promise<Configuration> {
  const name = options.name ?? basename(resolve(directory));
  const before = await maybeConfiguration(run.api, name);
  if (before && before.source.type !== "archive")
    throw new Failure(
      `the configuration "${name}" has its files from elsewhere (${before.source.type}): give another --name`,
    );
  const zone = before ? undefined : await zoneFor(run, options.zone);
  if (before && options.zone !== undefined) {
    const { zones } = await run.api.call("listZones");
    if (find("zone", "zones", zones, options.zone).id !== before.zone_id)
      throw new Failure(`"${name}" is in another zone than "${options.zone}": give another --name`);
  }
  const variables = namesVariables(options)
    ? { variables: await variablesOf(options, before?.variables) }
    : {};
  const labels = options.label === undefined ? {} : { labels: options.label };
  const backend = options.backend === undefined ? {} : { backend: backendOf(options.backend) };
  const source = await uploadDirectory(run, directory);
  const fields = { source, ...variables, ...labels, ...backend };
  if (before) {
    run.done(`Configuration "${name}", as it is in ${directory} now.`);
    return run.api.call("updateConfiguration", { params: { name: before.id }, body: fields });
  }
  const zone_id = zone?.id ?? "";
  const made = await run.api.call("createConfiguration", { body: { name, zone_id, ...fields } });
  run.done(`Configuration "${name}" made in zone "${zone?.name}".`);
  return made;
}

/** The zone of this name, made where there is none; without a name the only one there is, or a first one. */
async function zoneFor(run: Run, name: string | undefined): Promise<Zone> {
  const { zones } = await run.api.call("listZones");
  if (name === undefined && zones.length > 1)
    throw new Failure(`in which zone? --zone ${zones.map((zone) => zone.name).join(" or ")}`, 2);
  const found = name === undefined ? zones[0] : zones.find((zone) => zone.name === name);
  if (found) return found;
  const made = await run.api.call("createZone", { body: { name: name ?? "default" } });
  run.done(`Zone "${made.name}" made.`);
  return made;
}

/** Throws `Failure` unless it succeeded. */
async function runJob(run: Run, body: CreateJob): Promise<Job> {
  const job = await watchJob(run, await run.api.call("createJob", { body }));
  if (run.json && job.status !== "SUCCESS") showJob(run, job);
  mirror(run, job);
  return job;
}

/** Shows the plan and asks. False when there is nothing to deploy. */
async function isWanted(
  run: Run,
  planned: Job,
  configuration: Configuration,
  { yes }: UpOptions,
): Promise<boolean> {
  const { plan_summary } = await run.api.call("getPlanSummary", { params: { id: planned.id } });
  const out = run.json ? say : print;
  if (plan_summary) for (const line of ["", ...planView(plan_summary), ""]) out(line);
  if (plan_summary?.applyable === false) {
    if (run.json) showJob(run, planned);
    else showOutputs(outputLines({ execution_metadata: { outputs: outputsOf(configuration) } }));
    return false;
  }
  const later = `To deploy exactly this plan later: windlass jobs deploy --plan ${planned.id} --wait`;
  if (!yes && !canAsk()) {
    if (run.json) showJob(run, planned);
    throw new Failure(`nobody can be asked here, so nothing was deployed: add --yes. ${later}`, 2);
  }
  try {
    await confirm("Deploy this plan?", { yes });
  } catch (error) {
    say(later);
    throw error;
  }
  return true;
}

const outputsOf = ({ components }: Configuration): Record<string, unknown> =>
  Object.fromEntries(components.map((one) => [one.name, one]));

function showOutputs(lines: readonly string[]): void {
  if (lines.length > 0) for (const line of ["", "Outputs:", ...lines]) print(line);
}
