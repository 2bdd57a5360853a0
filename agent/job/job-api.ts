/**
 * What a job needs of the control plane, declared here by its user. An implementation retries each
 * call until there is a response.
 */
import type { ReportStatus } from "../../protocol/executions.ts";
import type { LogSink } from "../logs/delivery.ts";

export interface JobApi extends LogSink {
  reportStatus(report: ReportStatus): Promise<void>;
  uploadPlan(file: string, signal: AbortSignal): Promise<void>;
  uploadDebugLog(file: string): Promise<void>;
  /** Writes the plan into a new file. Returns false if there is none. */
  downloadPlan(file: string, signal: AbortSignal): Promise<boolean>;
  downloadSource(file: string, signal: AbortSignal): Promise<void>;
  /** The address of the managed state of a configuration, for terraform's `http` backend. */
  stateAddress(specId: string): string;
  /**
   * Whether the control plane keeps a state of this configuration that has any resource or output.
   */
  hasState(specId: string, jobToken: string, signal: AbortSignal): Promise<boolean>;
  /**
   * Returns the managed state of a configuration; undefined if there is none, if it is larger than
   * `limit` bytes, or if it cannot be read for half a minute.
   */
  readState(specId: string, jobToken: string, limit: number): Promise<string | undefined>;
}
