/** What a job needs of the control plane, declared by its user. An implementation retries each call until it gets a response. */
import type { ReportStatus } from "../../protocol/executions.ts";
import type { LogSink } from "../logs/delivery.ts";

export interface JobApi extends LogSink {
  reportStatus(report: ReportStatus): Promise<void>;
  uploadPlan(file: string, signal: AbortSignal): Promise<void>;
  uploadDebugLog(file: string): Promise<void>;
  /** Into a new file; false when there is no plan. */
  downloadPlan(file: string, signal: AbortSignal): Promise<boolean>;
  downloadSource(file: string, signal: AbortSignal): Promise<void>;
  /** Address of the managed state of a spec, for terraform's `http` backend. */
  stateAddress(specId: string): string;
  /** Whether the control plane keeps a state of this spec that knows of anything. */
  hasState(specId: string, jobToken: string, signal: AbortSignal): Promise<boolean>;
}
