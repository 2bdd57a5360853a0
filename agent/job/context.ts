/** Everything that a step of a job can use. */
import type { JobFailure } from "../../protocol/job-failure.ts";
import type { ClaimedJob } from "../../protocol/executions.ts";
import type { BackoffLimits } from "../../common/backoff.ts";
import type { JobLog } from "../logs/job-log.ts";
import type { CloudSettings } from "./credentials/cloud-providers.ts";
import type { HeldIdentity } from "./credentials/held-identity.ts";
import type { EngineMirrors } from "./engine/releases.ts";
import type { Facts } from "./facts.ts";
import type { GitAccess } from "./source/git-access.ts";
import type { Isolation, IsolationSettings } from "./isolation/isolation.ts";
import type { JobApi } from "./job-api.ts";
import type { Journal, StopReason } from "./journal.ts";
import type { StopPatience } from "./terraform/process.ts";
import type { PreparedRun } from "./terraform/spawn.ts";
import type { Workspace } from "./workspace.ts";

export interface JobSettings {
  readonly workDir: string;
  readonly isolation: IsolationSettings;
  /** Names the agent in a job's first log line. */
  readonly title: string;
  readonly path: string;
  /** Proxies and certificates that terraform needs in this network. */
  readonly network: Readonly<Record<string, string>>;
  readonly cloud: CloudSettings;
  /** For git, and for the modules that `init` fetches with it; for nothing else of the job. */
  readonly gitAccess: readonly GitAccess[];
  /** Whether git may use `http:`, where others on the network can change what is fetched. */
  readonly allowHttp: boolean;
  readonly engineMirrors: EngineMirrors;
  /** The only source of providers, a directory or an https address; undefined: their registries. */
  readonly providerMirror: string | undefined;
  /** Limits of all engines and packages that are kept for later jobs; 0: no packages. */
  readonly cacheBytes: number;
  /** The disk space that a git source and the modules of a job may take. */
  readonly sourceBytes: number;
  /** The disk space that stays free. */
  readonly freeDiskBytes: number;
  readonly engineOffline: boolean;
  readonly enginePublicKeys: string | undefined;
  readonly logLimitBytes: number;
  /** Limit of terraform's debug log; the rest is dropped. */
  readonly debugLogLimitBytes: number;
  /** Pauses between repeated log posts. */
  readonly retry: BackoffLimits;
  readonly patience: Readonly<Record<"init" | "plan" | "apply", StopPatience>>;
  /** The worker's token: never given to a job, and masked in logs. */
  readonly workerToken: string;
  /** Seals the secrets that jobs learn; another one for each work directory. */
  readonly sealKey: string;
}

export interface JobContext {
  readonly claim: ClaimedJob;
  readonly settings: JobSettings;
  readonly api: JobApi;
  readonly log: JobLog;
  readonly journal: Journal;
  readonly workspace: Workspace;
  readonly isolation: Isolation;
  /** The directory `jobs/<id>`. */
  readonly directory: string;
  /** Facts of all steps that are done. */
  readonly facts: Facts;
  /** Aborted with a `StopReason` when the job must stop. */
  readonly stop: AbortSignal;
  /** Aborted when the outcome is decided: ends what a step left running, such as an endpoint. */
  readonly over: AbortSignal;
  readonly steps: readonly Step[];
  /** Number of the running step in the list, from 1; orders the run directories. */
  position: number;
  /** The cloud identity that this job has, from the step that obtains it. */
  identity?: HeldIdentity | undefined;
  /** The waiting wrapper of the next command. */
  prepared?: PreparedRun | undefined;
}

export interface Step {
  readonly name: string;
  /** The arguments of the step's first terraform command, if they are known beforehand. */
  command?(context: JobContext): readonly string[] | undefined;
  /** Runs even while the job is being stopped, because it reports what happened before. */
  readonly always?: boolean;
  /** May run again after a crash, so it starts over or uses what is already there. */
  run(context: JobContext): Promise<Facts>;
  /**
   * After a restart, in place of `run` for a step that was done: restores memory, may replace
   * facts.
   */
  resume?(context: JobContext, facts: Facts): Promise<void> | void;
}

/** A step failed. Users read the message as the job's `error_message`. */
export class StepFailedError extends Error {
  override readonly name: string = "StepFailedError";
  /** Whether resources were changed that no state records: the state could not be saved. */
  readonly isStateUnsaved: boolean;
  /** What the report says for programs, if it is known. */
  readonly failure: JobFailure | undefined;
  constructor(
    message: string,
    {
      isStateUnsaved = false,
      failure,
    }: { isStateUnsaved?: boolean; failure?: JobFailure | undefined } = {},
  ) {
    super(message);
    this.failure = failure;
    this.isStateUnsaved = isStateUnsaved;
  }
}

/** The machine went down, or the wrapper that records the exit code was killed. */
export class OutcomeUnknownError extends StepFailedError {
  override readonly name = "OutcomeUnknownError";
}

/** The job is being stopped and this step gave up. */
export class JobStoppedError extends Error {
  override readonly name = "JobStoppedError";
  readonly reason: StopReason;
  constructor(reason: StopReason) {
    super(reason);
    this.reason = reason;
  }
}

/** Returns a fact that an earlier step has found. */
export function known<K extends keyof Facts>(context: JobContext, fact: K): NonNullable<Facts[K]> {
  const value = context.facts[fact];
  if (value === undefined || value === null) throw new Error(`the step list lacks "${fact}"`);
  return value;
}
