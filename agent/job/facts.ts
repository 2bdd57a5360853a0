/** What the steps of a job find out for later steps. Each step's facts are journaled, so they must be plain JSON. */
import type { Engine } from "../../protocol/configurations.ts";
import type { ExecutionMetadata } from "../../protocol/jobs.ts";
import type { EndpointAddress } from "./credentials/endpoint.ts";
import type { PlanSummary } from "../../protocol/plan-summary.ts";
import type { PlanManifest, SourceRevision } from "./plan/manifest.ts";

/**
 * Where the state is kept. `managed`: in the control plane, by terraform's `http` backend. `local`: in a file of the work directory, for a
 * server that knows only the interface. `own`: where the configuration declares.
 */
export type BackendKind = "managed" | "local" | "own";

export interface Facts {
  source?: SourceRevision;
  /** The folder of the source in which terraform runs, absolute. */
  folder?: string;
  /** A lock file came with the source or the plan: init must not change it. */
  locked?: boolean;
  engine?: { engine: Engine; version: string; path: string };
  /** Where the state is kept. */
  backend?: BackendKind;
  /** Of the downloaded plan; null when there is none and this job makes its own. */
  manifest?: PlanManifest | null;
  /** Whether the plan that this job made changes anything. */
  changes?: boolean;
  summary?: PlanSummary;
  metadata?: ExecutionMetadata;
  /** Where terraform asks for cloud credentials; it holds this in its environment, so it is the same for every agent of the job. */
  credentials?: EndpointAddress;
}
