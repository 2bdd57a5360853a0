/**
 * The facts that steps find out for later steps. They are written to the journal, so they must be
 * plain JSON.
 */
import type { Engine } from "../../protocol/configurations.ts";
import type { ExecutionMetadata } from "../../protocol/jobs.ts";
import type { EndpointAddress } from "./credentials/endpoint-address.ts";
import type { PlanSummary } from "../../protocol/plan-summary.ts";
import type { PlanManifest, SourceRevision } from "./plan/manifest.ts";

/**
 * Where the state is kept. `managed`: in the control plane, by terraform's `http` backend. `local`:
 * in a file of the work directory, for a server that knows only the published interface. `own`: in
 * the backend that the configuration declares.
 */
export type BackendKind = "managed" | "local" | "own";

export interface Facts {
  source?: SourceRevision;
  /** The directory of the source in which terraform runs, absolute. */
  folder?: string;
  /** The source or the plan has a lock file, which init must not change. */
  locked?: boolean;
  engine?: { engine: Engine; version: string; path: string };
  /** Where the state is kept. */
  backend?: BackendKind;
  /** The manifest of the downloaded plan; null if there is none and this job makes its own. */
  manifest?: PlanManifest | null;
  /** Whether the plan of this job changes anything. */
  changes?: boolean;
  summary?: PlanSummary;
  metadata?: ExecutionMetadata;
  /**
   * The endpoint for cloud credentials. The journal has it in entries of its own, because a job can
   * get another one; agents before version 0.2 have written it here.
   */
  credentials?: EndpointAddress;
}
