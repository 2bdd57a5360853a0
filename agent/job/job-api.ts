/** What a job needs of the control plane. Each call is repeated until there is a response. */
import type { ReportStatus } from "../../protocol/executions.ts";
import type { Phase } from "./credentials/held-identity.ts";
import type { LogSink } from "../logs/delivery.ts";

export interface JobApi extends LogSink {
  reportStatus(report: ReportStatus): Promise<void>;
  uploadPlan(file: string, signal: AbortSignal): Promise<void>;
  uploadDebugLog(file: string): Promise<void>;
  /** Writes the plan into a new file. Returns false if there is none. */
  downloadPlan(file: string, signal: AbortSignal): Promise<boolean>;
  downloadSource(file: string, signal: AbortSignal): Promise<void>;
  /**
   * Makes one call. `life`: for how many milliseconds the token is valid. Throws
   * `JobRefusedError` if a later call would fail too.
   */
  identityToken(
    request: { audience: string; phase: Phase },
    signal: AbortSignal,
  ): Promise<{ token: string; life: number }>;
  /** The address of the managed state of a configuration, for terraform's `http` backend. */
  stateAddress(specId: string): string;
  /** Whether the control plane keeps a state of this configuration that is not empty. */
  hasState(specId: string, jobToken: string, signal: AbortSignal): Promise<boolean>;
  /**
   * Returns undefined if there is no managed state, it has more than `limit` bytes, or it cannot be
   * read for half a minute.
   */
  readState(specId: string, jobToken: string, limit: number): Promise<string | undefined>;
}
