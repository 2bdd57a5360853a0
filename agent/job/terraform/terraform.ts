/** Runs one terraform command: starts or adopts it, ships its output, and stops it with the job. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { bootId } from "../../machine/process-identity.ts";
import {
  JobStoppedError,
  known,
  OutcomeUnknownError,
  StepFailedError,
  type JobContext,
} from "../context.ts";
import { cloudEnvironment, replacedVariables } from "../credentials/cloud-identity.ts";
import { boundDebugLog, debugEnvironment, prepareDebugLog } from "./debug-log.ts";
import { saysInterruptedTwice } from "./diagnostics.ts";
import { environmentOf, stateEnvironment } from "./environment.ts";
import { interruptsOf, JournalError, type StopReason } from "../journal.ts";
import { withVariables } from "../plan/variables.ts";
import { mentions } from "../mentions.ts";
import { exitTime, hasExited, openRun, type Run, type StopPatience } from "./process.ts";
import { prepareRun, type PreparedRun, type RunCommand } from "./spawn.ts";
import { mebibyte } from "../../../common/units.ts";

export interface TerraformOptions {
  /** Distinguishes the runs of one step. */
  readonly suffix?: string;
  /** Whether users may read the output: `output -json` and `show -json` contain secrets. */
  readonly logged: boolean;
  /** How it is stopped when the job is. */
  readonly patience: StopPatience;
  /**
   * For what reports the result, also of a stopped job: the time it has, and from the stop on, in
   * ms.
   */
  readonly limit?: { readonly usual: number; readonly stopped: number };
  /** It changes infrastructure: that it may have run must be known even after a power failure. */
  readonly changes?: boolean;
  /** Stops this command, besides the job's own stop. */
  readonly signal?: AbortSignal;
  /** Replaces the job's own. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The next command is that of the next step, even though this one has such an environment. */
  readonly endsStep?: boolean;
}

export interface TerraformEnd {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** In the job's directory. Called again after a crash, it finds the run and waits for it. */
export async function runTerraform(
  context: JobContext,
  name: string,
  args: readonly string[],
  options: TerraformOptions,
): Promise<TerraformEnd> {
  const { journal, log } = context;
  const run = runName(context.position, `${name}${options.suffix ?? ""}`);
  prepareDebugLog(context);
  const command = commandOf(context, run, args, options.environment);
  const { directory } = command;
  const before = journal.find("run", (entry) => entry.run === run);
  if (before && before.boot !== bootId() && !hasExited(directory)) {
    throw gone(name, "the machine was restarted", options);
  }
  if (!before) {
    if (options.limit === undefined && context.stop.aborted)
      throw new JobStoppedError(context.stop.reason);
    journal.append({ at: "run", run, logged: options.logged, boot: bootId() });
    if (options.changes) await journal.flush();
    if (options.logged) {
      const { engine, version } = known(context, "engine");
      log.system(`${engine} ${version}: ${name}`, name);
    }
  }
  // It may have ended while no agent was running.
  const over = before ? exitTime(directory) : undefined;
  const prepared = takePrepared(context, command);
  const process = openRun(command, prepared, () => endRest(context), context.over);
  // Steps that fetch are skipped if there is nothing to fetch, so the next command is not known
  // then.
  if (!options.environment || options.endsStep) prepareNext(context);
  if (options.logged)
    log.run(
      run,
      process.ended.then(() => undefined),
    );
  const ending = stoppable(context, run, process, options);
  const { end, interrupts } = await boundDebugLog(context, ending);
  if (options.logged) log.stepEnded(name, over);
  if (end.kind === "never started") {
    if (context.stop.aborted) throw new JobStoppedError(context.stop.reason as StopReason);
    throw new StepFailedError(`${name}: terraform could not be started: ${end.reason}`);
  }
  if (end.kind === "unknown") {
    throw gone(name, "it ended without an exit code", options);
  }
  if (end.code !== 0 && context.isolation.isOutOfMemory())
    throw gone(name, outOfMemory(context), options);
  const stderr = join(directory, "stderr");
  if (options.changes) {
    const why = await whyUnknown({ code: end.code, stderr }, interrupts);
    if (why !== undefined) throw gone(name, why, options);
  }
  return { code: end.code, stdout: join(directory, "stdout"), stderr };
}

/** The exit code of a process that SIGKILL ended. */
const killedCode = 137;

/**
 * Undefined if the exit code tells what changed. Terraform's own failures end with 1, all saved. A
 * kill or crash saves nothing, and after a second interrupt, also of others such as a service
 * manager, terraform does not wait for its changes.
 */
async function whyUnknown(
  { code, stderr }: Pick<TerraformEnd, "code" | "stderr">,
  interrupts: number,
): Promise<string | undefined> {
  if (code === 0) return undefined;
  if (code === killedCode)
    return interrupts > 0
      ? "it did not stop in time and was killed (exit code 137)"
      : "it was killed (exit code 137), by a person, or by the kernel because the machine was out of memory";
  if (code > 1) return `it crashed (exit code ${code})`;
  if (interrupts < 2 && !(await saysInterruptedTwice(stderr))) return undefined;
  return "it was interrupted twice, so it did not wait for what it was changing (exit code 1)";
}

const outOfMemory = ({ settings: { isolation } }: JobContext): string =>
  `the job used more memory than its limit (${(isolation.limits?.memoryBytes ?? 0) / mebibyte} MiB, WINDLASS_JOB_MEMORY_MIB of the runner), so the kernel ended it`;

/** What left terraform's process group, such as a daemon of a provisioner. */
async function endRest({ isolation, log }: JobContext): Promise<void> {
  try {
    const left = await isolation.killAll();
    if (left.length > 0) log.system(`Processes of this job cannot be killed: ${left.join(", ")}`);
  } catch (error) {
    // This is not an error of the command, whose result stands. It is tried again until it works,
    // before the workspace is removed.
    log.system(
      `Processes that this command left running could not be ended yet: ${(error as Error).message}`,
    );
  }
}

/** Whether this agent or a former one has started the command. */
export const hasRun = ({ journal }: Pick<JobContext, "journal">, name: string): boolean =>
  journal.find("run", ({ run }) => run.endsWith(`-${name}`)) !== undefined;

const runName = (position: number, name: string): string =>
  `${String(position).padStart(2, "0")}-${name}`;

const commandOf = (
  context: JobContext,
  run: string,
  args: readonly string[],
  environment?: Readonly<Record<string, string>>,
): RunCommand =>
  context.isolation.wrap({
    directory: join(context.directory, "runs", run),
    command: known(context, "engine").path,
    args: withVariables(context, args),
    cwd: known(context, "folder"),
    env: {
      ...(mayCollectLess(context, args) ? { GOGC: fewCollections } : {}),
      ...(environment ??
        environmentOf(context, {
          own: ownEnvironment(context),
          state: stateEnvironment(context),
          cloud: cloudEnvironment(context),
        })),
      ...debugEnvironment(context),
    },
  });

/** Without what the cloud identity replaces. */
function ownEnvironment({ claim }: JobContext): Record<string, unknown> {
  const { environment = {} } = claim.job.config_snapshot;
  const replaced = new Set(replacedVariables({ claim }));
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !replaced.has(name)));
}

/**
 * Terraform collects garbage whenever its memory doubles, a quarter of a short command. Not for
 * ones that need much memory, or whose providers or provisioners inherit the setting.
 */
const fewCollections = "400";

/** What makes a plan large or runs other programs. Provisioners are in `resource` or `removed`. */
const resourceWords = ["resource", "data", "module", "removed"];

function mayCollectLess(context: JobContext, [subcommand = ""]: readonly string[]): boolean {
  if (["init", "get", "output"].includes(subcommand)) return true;
  const folder = known(context, "folder");
  if (existsSync(join(folder, ".terraform", "providers"))) return false;
  return !mentions(context.workspace.root, folder, resourceWords);
}

/** The waiting wrapper, if it is for exactly this command. */
function takePrepared(context: JobContext, command: RunCommand): PreparedRun | undefined {
  const { prepared } = context;
  context.prepared = undefined;
  if (prepared && !prepared.isGone && isDeepStrictEqual(prepared.command, command)) return prepared;
  prepared?.cancel();
  return undefined;
}

/** While this command runs, the wrapper of the next one is started. */
function prepareNext(context: JobContext): void {
  for (let index = context.position; index < context.steps.length; index++) {
    const step = context.steps[index];
    const args = step?.command?.(context);
    if (!step || !args) continue;
    context.prepared = prepareRun(commandOf(context, runName(index + 1, step.name), args));
    return;
  }
}

async function stoppable(
  { stop, journal }: JobContext,
  run: string,
  process: Run,
  { patience, limit, signal: also }: TerraformOptions,
): Promise<{ readonly end: Awaited<Run["ended"]>; readonly interrupts: number }> {
  let climbing = Promise.resolve();
  let interrupts = interruptsOf(journal, run);
  const onInterrupt = (): void => {
    interrupts++;
    try {
      journal.append({ at: "interrupted", run });
    } catch (error) {
      if (!(error instanceof JournalError)) throw error;
      // A full disk must not keep a job from being stopped.
    }
  };
  const climb = (): void => {
    climbing = process.stop(patience, interrupts, onInterrupt);
    // Its failure is reported below; until then nothing awaits it.
    climbing.catch(() => undefined);
  };
  const stopping = limit ? [AbortSignal.timeout(limit.usual), later(stop, limit.stopped)] : [stop];
  const signal = AbortSignal.any(also ? [...stopping, also] : stopping);
  if (signal.aborted) climb();
  else signal.addEventListener("abort", climb, { once: true });
  try {
    const end = await process.ended;
    return { end, interrupts };
  } finally {
    signal.removeEventListener("abort", climb);
    await climbing;
  }
}

/** Aborted this many milliseconds after the other one. */
function later(signal: AbortSignal, delay: number): AbortSignal {
  const controller = new AbortController();
  const wait = (): void => {
    AbortSignal.timeout(delay).addEventListener("abort", () => controller.abort());
  };
  if (signal.aborted) wait();
  else signal.addEventListener("abort", wait, { once: true });
  return controller.signal;
}

function gone(name: string, why: string, { changes }: TerraformOptions): StepFailedError {
  if (!changes) return new StepFailedError(`${name}: ${why}`);
  const done = "The state has what it did, as far as it was saved";
  return new OutcomeUnknownError(`${name}: ${why}; outcome unknown. ${done}`);
}
