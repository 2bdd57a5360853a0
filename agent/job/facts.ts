/** What steps find out for later ones, in plain JSON because the journal has it. */
import type { Engine } from "../../protocol/configurations.ts";
import type { ExecutionMetadata } from "../../protocol/jobs.ts";
import type { EndpointAddress } from "./credentials/endpoint-address.ts";
import type { PlanSummary } from "../../protocol/plan-summary.ts";
import type { PlanManifest, SourceRevision } from "./plan/manifest.ts";
import type { MergedCommits } from "../../protocol/source-merge.ts";

/**
 * `managed`: in the control plane, by the `http` backend. `local`: in the work directory, for a
 * server of the published interface. `own`: in the backend that the configuration declares.
 */
export type BackendKind = "managed" | "local" | "own";

export interface Facts {
  source?: SourceRevision;
  /** Of a pull request: what was merged. */
  merged?: MergedCommits;
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
  /** Written here only by agents before version 0.2; now entries of the journal. */
  credentials?: EndpointAddress;
}
