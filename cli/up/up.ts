/** `windlass up`: uploads, plans and deploys a directory. */
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Configuration } from "../../protocol/configurations.ts";
import type { CreateJob, Job } from "../../protocol/jobs.ts";
import { approvalRuleText } from "../../protocol/words.ts";
import { canAsk } from "../terminal/ask.ts";
import { noteLocalState } from "../configurations/local-state.ts";
import { namedDirectory, requireDirectory } from "../configurations/pack.ts";
import { withRemedy } from "../api/failures.ts";
import { teamWords } from "../api/team.ts";
import { approvalNote } from "../jobs/approvals.ts";
import { outputsOf, printOutputs, printOutputsOf } from "../jobs/outputs.ts";
import { confirmPlan } from "../plans/confirm.ts";
import { planView } from "../plans/plan-view.ts";
import { consoleAddress, showJob } from "../jobs/read.ts";
import { reportOutcome, watchJob } from "../jobs/watch.ts";
import { CliError, print, say, styled } from "../terminal/output.ts";
import { duration } from "../terminal/times.ts";
import { shellWord } from "../../common/shell-word.ts";
import type { Run } from "../run.ts";
import { actingTeam, refuseLesserRole } from "../teams/acting.ts";
import { deployCommand, followCommand } from "../jobs/words.ts";
import { inLinkedSpace } from "./linked-space.ts";
import { readOrigins } from "./origin.ts";
import { noteShellVariables } from "./shell-variables.ts";
import { withChanged, withCreated } from "./notes.ts";
import { noteWorkspace } from "./workspace.ts";
import { configure, type Configured, type ConfigureOptions, type Files } from "./configure.ts";

export interface UpOptions extends ConfigureOptions {
  readonly debug?: true | undefined;
  readonly yes?: true | undefined;
  readonly verbose?: true | undefined;
  /** False: return when the deployment is queued. */
  readonly wait: boolean;
}

/** Uploads, plans and deploys the directory. Throws `CliError` if a job does not succeed. */
export async function up(current: Run, given: string, options: UpOptions): Promise<void> {
  const directory = namedDirectory(given);
  requireDirectory(directory);
  refuseEmpty(options);
  const reading = readOrigins(directory);
  const run = await inLinkedSpace(current, reading, { namesOthers: true });
  const origins = await reading;
  const team = await actingTeam(run);
  if (team)
    run.done(
      `In the team "${team.name}" (${team.slug}), as ${team.role ?? "a member in some of its zones"}.`,
    );
  // Refused before anything is packed.
  await refuseLesserRole(run, "deployer", team);
  const configured = await configure(run, directory, origins, options);
  const { configuration, createdIn } = configured;
  const planned = await planAndConfirm(run, directory, configured, options).catch(
    (error: unknown) => {
      throw createdIn === undefined
        ? withChanged(run, error, configuration.name, configured)
        : withCreated(
            run,
            error,
            `The configuration "${configuration.name}" was created in the zone "${createdIn}" and stays`,
            `configurations delete ${shellWord(configuration.name)}`,
          );
    },
  );
  if (planned === undefined) return;
  await deploy(run, planned, configuration, options);
  const isAsked = createdIn !== undefined && options.wait && !options.yes && !run.json && canAsk();
  if (isAsked && options.workingDirectory === undefined && !configuration.var_files?.length)
    await (await import("./offer-follow.ts")).offerFollow(run, directory, configuration, origins);
}

/** A terminal gets what succeeded in short. A pipe gets all of it, such as the log of a pipeline. */
const folds = ({ json }: Run, { verbose }: Pick<UpOptions, "verbose">): boolean =>
  !json && !verbose && process.stdout.isTTY;

/** A variable of a script that is not set leaves an empty text. */
function refuseEmpty({ name, zone }: UpOptions): void {
  for (const [option, text] of [
    ["--name", name],
    ["--zone", zone],
  ])
    if (text === "") throw new CliError(`${option} is empty. Pass a name, or leave it out.`, 2);
}

/** Returns the PLAN job that is to be deployed, if any. */
async function planAndConfirm(
  run: Run,
  directory: string,
  configured: Configured,
  options: UpOptions,
): Promise<Job | undefined> {
  const { configuration, files } = configured;
  const root = join(directory, options.workingDirectory ?? "");
  const note = await noteLocalState(run, root, configuration, options);
  noteShellVariables(run, root, options);
  noteWorkspace(run, root);
  const body = { job_type: "PLAN" as const, configuration_id: configuration.id, ...files };
  const planned = await runJob(run, { ...body, ...debugOf(options) }, { ...options, wait: true });
  return (await showAndConfirm(run, planned, configured, options, note)) ? planned : undefined;
}

async function deploy(
  run: Run,
  planned: Job,
  { id: configuration_id, name }: Configuration,
  options: UpOptions,
): Promise<void> {
  const ids = { configuration_id, plan_job_id: planned.id };
  const body = { job_type: "DEPLOY" as const, ...ids, ...debugOf(options) };
  const deployed = await runJob(run, body, options).catch((error: unknown) => {
    throw withRemedy(error, { plan_is_stale: `Run ${commandOf(options)} again` });
  });
  if (!options.wait) return;
  if (run.json) return showJob(run, deployed);
  await printOutputsOf(run, deployed);
  if (process.stdout.isTTY)
    print(`\n${styled(["bold", "green"], `✓ Deployed "${name}" in ${tookOf(planned, deployed)}`)}`);
}

/** The time of both jobs, without that of the question between them. */
const tookOf = (...jobs: readonly Job[]): string =>
  duration(
    jobs.reduce(
      (sum, { created_at, ended_at }) =>
        sum + Date.parse(ended_at ?? created_at) - Date.parse(created_at),
      0,
    ),
  );

/** Without the name, the command would be about the configuration of the directory's name. */
const commandOf = ({ name }: Pick<UpOptions, "name">): string =>
  name === undefined ? "windlass up" : `windlass up --name ${shellWord(name)}`;

const debugOf = ({ debug }: UpOptions): Pick<CreateJob, "debug"> => (debug ? { debug } : {});

/** Runs a job to its end, unless `wait` is false. Throws `CliError` unless it succeeds. */
async function runJob(
  run: Run,
  body: CreateJob,
  options: Pick<UpOptions, "name" | "wait" | "verbose">,
): Promise<Job> {
  const { wait } = options;
  const queued = await run.api.call("createJob", { body });
  const note = await approvalNote(run, queued);
  if (!wait) {
    await showJob(run, queued);
    run.done(`Queued. Nothing is deployed yet. To follow it: ${followCommand(run.api, queued)}`);
  } else if (note === undefined) run.done(`In the console: ${consoleAddress(run, queued)}`);
  if (note !== undefined) run.done(note);
  if (!wait) return queued;
  const job = await watchJob(run, queued, { folds: folds(run, options) });
  if (folds(run, options) && job.status === "SUCCESS") return job;
  if (run.json && job.status !== "SUCCESS") await showJob(run, job);
  await reportOutcome(run, job, {
    again: `run ${commandOf(options)} again.`,
    set: "add to the command:",
  });
  return job;
}

/**
 * Why to deploy a plan without changes: the state may be where only the runner reads its outputs,
 * and files may decide what later jobs do, such as a provisioner of a destruction.
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
  { configuration: before, files }: Configured,
  options: UpOptions,
  note: string | undefined,
): Promise<boolean> {
  let configuration = before;
  const { plan_summary } = await run.api.call("getPlanSummary", { params: { id: planned.id } });
  const out = run.json ? say : print;
  // All values are in terraform's own plan, just above, unless it is folded.
  const shown = folds(run, options) ? ({ folded: true } as const) : { attributes: false };
  const lines = plan_summary ? planView(plan_summary, shown) : [];
  if (plan_summary) for (const line of ["", ...lines]) out(line);
  if (plan_summary?.applyable === false) {
    // While the plan waited, another job may have deployed these files or changed the outputs.
    configuration = await run.api.call("getConfiguration", { params: { name: before.id } });
    const use = useOfDeployment(configuration, files);
    if (use === undefined || (!options.yes && !canAsk())) {
      // Nothing is deployed, so the outputs are those of the state.
      const outputs = outputsOf(configuration);
      if (run.json) await showJob(run, { ...planned, execution_metadata: outputs });
      else printOutputs(run, outputs, configuration);
      if (use !== undefined)
        run.done(`${use}. Pass --yes for that, or run: ${deployCommand(run.api, planned)}`);
      // A user has stored the state. The server cannot read the outputs of an encrypted one.
      else if (
        configuration.engine === "opentofu" &&
        configuration.deployed?.job_id === null &&
        configuration.components.length === 0
      )
        run.done(
          `If OpenTofu encrypts this state, a deployment records its outputs: windlass jobs deploy ${shellWord(configuration.name)} --wait${teamWords(run.api.team)}`,
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
