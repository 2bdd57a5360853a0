/** Loaded only for plans, because schemas are a fifth of the memory of an idle agent. */
import { Type, type Static } from "typebox";
import { Check } from "typebox/value";
import { Engine } from "../../../protocol/configurations.ts";
import { Nullable, OneOf, Sha256 } from "../../../protocol/fields.ts";
import { PlanOptions } from "../../../protocol/plan-options.ts";

/** Identifies the terraform files exactly. */
const SourceRevision = Type.Object({
  type: Type.String({ maxLength: 20 }),
  /** Identifies the whole source: the archive's SHA-256, the commit, or a hash of all inline files. */
  digest: Type.String({ maxLength: 100 }),
});
export type SourceRevision = Static<typeof SourceRevision>;

/** `manifest.json` of a plan artifact: with what exactly the plan was made. */
const PlanManifest = Type.Object({
  format: Type.Literal(1),
  engine: Engine,
  engine_version: Type.String({ maxLength: 100 }),
  job_id: Type.String({ maxLength: 64 }),
  spec_id: Nullable(Type.String({ maxLength: 64 })),
  source: SourceRevision,
  plan_sha256: Sha256,
  lock_sha256: Nullable(Sha256),
  /** Where the state was kept that was planned; absent in plans of earlier agents. */
  backend: Type.Optional(OneOf(["managed", "local", "own"])),
  /** Absent for an ordinary plan. */
  options: Type.Optional(PlanOptions),
});
export type PlanManifest = Static<typeof PlanManifest>;

/** Whether this version of the agent can read the manifest. */
export const isPlanManifest = (manifest: unknown): manifest is PlanManifest =>
  Check(PlanManifest, manifest);
