/** What the steps of a job find out for later steps. Each step's facts are journaled, so they must be plain JSON. */
import { Type, type Static } from "typebox";
import { Engine } from "../../protocol/configurations.ts";
import { Nullable, Sha256 } from "../../protocol/fields.ts";
import type { ExecutionMetadata } from "../../protocol/jobs.ts";
import type { EndpointAddress } from "./credential-endpoint.ts";
import type { PlanSummary } from "../../protocol/plan-summary.ts";

/** Where the terraform files came from, exactly. */
export const SourceRevision = Type.Object({
  type: Type.String({ maxLength: 20 }),
  /** Of everything in the source: the archive's SHA-256, the commit, or a hash over all inline files. */
  digest: Type.String({ maxLength: 100 }),
});
export type SourceRevision = Static<typeof SourceRevision>;

/** `manifest.json` of a plan artifact: with what exactly the plan was made. */
export const PlanManifest = Type.Object({
  format: Type.Literal(1),
  engine: Engine,
  engine_version: Type.String({ maxLength: 100 }),
  job_id: Type.String({ maxLength: 64 }),
  spec_id: Nullable(Type.String({ maxLength: 64 })),
  source: SourceRevision,
  plan_sha256: Sha256,
  lock_sha256: Nullable(Sha256),
});
export type PlanManifest = Static<typeof PlanManifest>;

export interface Facts {
  source?: SourceRevision;
  /** The folder of the source in which terraform runs, absolute. */
  folder?: string;
  /** A lock file came with the source or the plan: init must not change it. */
  locked?: boolean;
  engine?: { engine: Engine; version: string; path: string };
  /** Of the downloaded plan; null when there is none and this job makes its own. */
  manifest?: PlanManifest | null;
  /** Whether the plan that this job made changes anything. */
  changes?: boolean;
  summary?: PlanSummary;
  metadata?: ExecutionMetadata;
  /** Where terraform asks for cloud credentials; it holds this in its environment, so it is the same for every agent of the job. */
  credentials?: EndpointAddress;
}
