/** What every step of a job gets to see. */
import type { ClaimedJob } from "../../protocol/executions.ts";
import type { BackoffLimits } from "../../common/backoff.ts";
import type { JobLog } from "../logs/job-log.ts";
import type { CloudSettings } from "./credentials/cloud-providers.ts";
import type { Facts } from "./facts.ts";
import type { GitAccess } from "./source/git-access.ts";
import type { Isolation, IsolationSettings } from "./isolation/isolation.ts";
import type { JobApi } from "./job-api.ts";
import type { Journal, StopReason } from "./journal.ts";
import type { StopPatience } from "./terraform/process.ts";
import type { PreparedRun } from "./terraform/spawn.ts";
import type { Workspace } from "./workspace.ts";

/** Settings of the agent that jobs depend on. */
export interface JobSettings {
  readonly workDir: string;
  readonly isolation: IsolationSettings;
  /** Names the agent in a job's first log line. */
  readonly title: string;
  readonly path: string;
  /** Proxies and certificates that terraform needs in this network. */
  readonly network: Readonly<Record<string, string>>;
  readonly cloud: CloudSettings;
  /** For git and for the modules that `init` fetches with it; never for what runs of the job itself. */
  readonly gitAccess: readonly GitAccess[];
  /** Whether git may use `http:`, where what it fetches can be changed on the way. */
  readonly allowHttp: boolean;
  readonly engineMirror: string | undefined;
  /** Where alone providers come from: a folder, or an https address; undefined: their registries. */
  readonly providerMirror: string | undefined;
  /** Of all engines and provider packages that are kept for later jobs; 0: no packages are kept. */
  readonly cacheBytes: number;
  /** What a git source and the modules of a job may take on the disk while they are fetched. */
  readonly sourceBytes: number;
  /** What stays free on the disk. */
  readonly freeDiskBytes: number;
  readonly engineOffline: boolean;
  readonly enginePublicKeys: string | undefined;
  readonly logLimitBytes: number;
  /** Of terraform's debug log; the rest is dropped. */
  readonly debugLogLimitBytes: number;
  /** Of log posts that are not answered. */
  readonly retry: BackoffLimits;
  readonly patience: Readonly<Record<"init" | "plan" | "apply", StopPatience>>;
  /** The worker's token: never for a job, and masked should it ever turn up in a log. */
  readonly workerToken: string;
}

export interface JobContext {
  readonly claim: ClaimedJob;
  readonly settings: JobSettings;
  readonly api: JobApi;
  readonly log: JobLog;
  readonly journal: Journal;
  readonly workspace: Workspace;
  readonly isolation: Isolation;
  /** `jobs/<id>`. */
  readonly directory: string;
  /** Facts of all steps that are done. */
  readonly facts: Facts;
  /** Aborted, with a `StopReason`, when the job is to be stopped. */
  readonly stop: AbortSignal;
  /** Aborted when the outcome is decided: what a step keeps running beside the job ends. */
  readonly over: AbortSignal;
  readonly steps: readonly Step[];
  /** Number of the running step in the list, from 1; orders the run directories. */
  position: number;
  /** The next command's wrapper, which waits. */
  prepared?: PreparedRun | undefined;
}

export interface Step {
  readonly name: string;
  /** The arguments of the terraform command that the step runs first, where they are known beforehand. */
  command?(context: JobContext): readonly string[] | undefined;
  /** Runs even when the job is being stopped, because what happened before it must be told. */
  readonly always?: boolean;
  /** May be run again after a crash, so it starts from nothing or finds what is there. */
  run(context: JobContext): Promise<Facts>;
  /** In place of `run` when a former agent has done the step: brings back what it kept in memory. */
  resume?(context: JobContext, facts: Facts): void;
}

/** A step failed; the message is what the user reads as the job's `error_message`. */
export class StepFailed extends Error {
  override readonly name: string = "StepFailed";
}

/** The outcome of an apply is unknown: the machine went down, or the wrapper that records the exit code was killed. */
export class OutcomeUnknown extends StepFailed {
  override readonly name = "OutcomeUnknown";
}

/** The job is being stopped and this step gave up. */
export class JobStopped extends Error {
  override readonly name = "JobStopped";
  readonly reason: StopReason;
  constructor(reason: StopReason) {
    super(reason);
    this.reason = reason;
  }
}

/** A fact that an earlier step of the list has found. */
export function known<K extends keyof Facts>(context: JobContext, fact: K): NonNullable<Facts[K]> {
  const value = context.facts[fact];
  if (value === undefined || value === null) throw new Error(`the step list lacks "${fact}"`);
  return value;
}
