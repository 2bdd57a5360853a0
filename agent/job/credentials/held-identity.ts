/** The cloud identity of a running job, as its steps use it. */

/** Planning or changing: what a token says that it is for, and which role a job gets. */
export type Phase = "plan" | "apply";

export interface HeldIdentity {
  /** Gets the first credentials, so that a wrong identity fails before terraform starts. */
  begin(stop: AbortSignal): Promise<void>;
  /** Continues after a restart of the agent. */
  resume(): Promise<void>;
  /** Before the apply: ends what the phase of planning had, and gets what the apply needs. */
  enter(stop: AbortSignal): Promise<void>;
  /** Before the first command that may use them: puts files into the job's home. */
  place(): void;
  /** For the job's log: as whom the job acts, without secrets. */
  describe(): string;
}

/** For how many milliseconds temporary failures are retried before the job fails. */
export const patience = 120_000;
