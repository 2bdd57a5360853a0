/** All that a job needs of the control plane, declared by its user. Whoever implements it repeats a call until it is answered. */
import type { ReportStatus } from "../../protocol/executions.ts";
import type { LogSink } from "../logs/job-log.ts";

export interface JobApi extends LogSink {
  reportStatus(report: ReportStatus): Promise<void>;
  uploadPlan(file: string, signal: AbortSignal): Promise<void>;
  /** Into a new file; false when there is no plan. */
  downloadPlan(file: string, signal: AbortSignal): Promise<boolean>;
  downloadSource(file: string, signal: AbortSignal): Promise<void>;
  /** Address of the managed state of a spec, for terraform's `http` backend. */
  stateAddress(specId: string): string;
  /** Whether the control plane keeps a state of this spec that knows of anything. */
  hasState(specId: string, jobToken: string, signal: AbortSignal): Promise<boolean>;
}

/** The server refuses for good; the job must not repeat the call. */
export class JobRefused extends Error {
  override readonly name = "JobRefused";
  /** `lost`: another runner or attempt holds the job. `ended`: it may not start. */
  readonly reason: "lost" | "ended" | "refused";
  /** The server's word for it, where it has one. */
  readonly code: string | undefined;
  constructor(reason: JobRefused["reason"], message: string, code?: string) {
    super(message);
    this.reason = reason;
    this.code = code;
  }
}
