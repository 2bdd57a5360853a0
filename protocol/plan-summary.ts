/** Counts, addresses, reasons and what changes in each resource, without sensitive values. */
import { Type, type Static } from "typebox";
import { endpoint } from "./endpoint.ts";
import { about, Nullable, OneOf, Sha256, Uuid } from "./fields.ts";
import { jobParams } from "./jobs.ts";
import {
  localModulesLimit,
  planAttributeCount,
  planGraphCount,
  planListLimit,
  planTextLimit,
} from "./limits.ts";
import { PlanAction, PlanCounts } from "./plan-counts.ts";

export { PlanAction } from "./plan-counts.ts";

const Text = Type.String({ maxLength: planTextLimit });
const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const list = <T extends Parameters<typeof Type.Array>[0]>(items: T) =>
  Type.Array(items, { maxItems: planListLimit });

const Value = Type.Unknown({
  description: "A plain value, or a list of them; a long one is cut and ends in an ellipsis.",
});

/** One attribute of a resource before and after. */
export const PlannedAttribute = Type.Object({
  path: about(Text, "The attribute, such as `tags.Name` or `ingress[0].cidr_blocks`."),
  before: Type.Optional(Value),
  after: Type.Optional(Value),
  sensitive: Type.Optional(
    about(Type.Boolean(), "Whether it has a sensitive value, which is left out."),
  ),
  unknown: Type.Optional(about(Type.Boolean(), "Whether it is known only after the apply.")),
  large_numbers: Type.Optional(
    about(
      Type.Array(OneOf(["before", "after"]), { maxItems: 2 }),
      "Which of the values is a number that has more digits than a number of JavaScript, and therefore is a text here.",
    ),
  ),
});
export type PlannedAttribute = Static<typeof PlannedAttribute>;

export const PlannedChange = Type.Object({
  address: Text,
  action: PlanAction,
  /** Terraform's name of the reason, such as `replace_because_cannot_update`. */
  reason: Type.Optional(Text),
  created_first: Type.Optional(
    about(
      Type.Boolean(),
      "Of a replacement: whether the new resource is created before the old one is destroyed.",
    ),
  ),
  /** The attributes that force the replacement. */
  replaced_by: Type.Optional(Type.Array(Text, { maxItems: 20 })),
  attributes: Type.Optional(
    about(
      Type.Array(Type.Union([PlannedAttribute, Text]), { maxItems: planAttributeCount }),
      "The attributes that change, with at most 1 MiB in all resources. An agent of version 0.1 sends names only.",
    ),
  ),
  /** The address before a move. */
  previous_address: Type.Optional(Text),
  /** Whether an existing resource is imported into the state. */
  imported: Type.Optional(Type.Boolean()),
});
export type PlannedChange = Static<typeof PlannedChange>;

export const DriftedResource = Type.Object({
  address: Text,
  action: PlanAction,
  attributes: Type.Optional(
    about(
      Type.Array(PlannedAttribute, { maxItems: planAttributeCount }),
      "The attributes that were changed: `before` as deployed, `after` as they are now. Counts towards the limit of all attributes. Older runners send none.",
    ),
  ),
});
export type DriftedResource = Static<typeof DriftedResource>;

export const OutputChange = Type.Object({
  name: Text,
  action: PlanAction,
  sensitive: Type.Boolean(),
  attributes: Type.Optional(
    about(
      Type.Array(PlannedAttribute, { maxItems: planAttributeCount }),
      "What changes in its value, with paths inside the value; the path of the whole value is empty. Counts towards the limit of all attributes.",
    ),
  ),
});
export type OutputChange = Static<typeof OutputChange>;

const PlanGraph = Type.Array(
  Type.Object({
    address: about(Text, "A resource that changes, without keys of instances."),
    needs: Type.Array(Text, { maxItems: planGraphCount }),
  }),
  { maxItems: planListLimit },
);

export const PlanSummary = Type.Object({
  counts: PlanCounts,
  /** Deletions and replacements first, then the others in terraform's order. */
  changes: list(PlannedChange),
  changes_omitted: Count,
  /** What changed outside of terraform since the last apply. */
  drift: list(DriftedResource),
  drift_omitted: Count,
  outputs: list(OutputChange),
  outputs_omitted: Count,
  graph: Type.Optional(
    about(
      PlanGraph,
      "What the resources that change need, from the configuration, without what is needed through local values and dynamic blocks. At most 5,000 dependencies and 128 KiB; missing if it does not fit, and from older runners.",
    ),
  ),
  /** Checks and conditions that fail, or are known only after the apply. */
  checks: list(Type.Object({ address: Text, status: OneOf(["fail", "error", "unknown"]) })),
  truncated: Type.Optional(
    about(
      Type.Boolean(),
      "Whether the lists are incomplete: some changes, or attributes of some, are left out.",
    ),
  ),
  /** Whether there is anything to apply. */
  applyable: Type.Boolean(),
  /** False if another plan is needed after this one is applied (targets, deferred changes). */
  complete: Type.Boolean(),
  digest: Type.Optional(
    about(
      Sha256,
      "Of all that the plan would apply, sensitive values included, and of nothing else: equal for the same change whenever and wherever it is planned. Only if the claim has a `plan_digest_key`, and absent if the plan is too large.",
    ),
  ),
  has_unknown: Type.Optional(
    about(Type.Boolean(), "Whether a value that it applies is known only after the apply."),
  ),
  has_checks: Type.Optional(
    about(
      Type.Boolean(),
      "Whether the configuration has `check` blocks, whose assertions are made again by the apply.",
    ),
  ),
  has_provisioners: Type.Optional(
    about(Type.Boolean(), "Whether a resource of the configuration has a provisioner."),
  ),
  source_digest: Type.Optional(
    about(
      Sha256,
      "Of the lock file, and of all files in the directory of the configuration and in those of its local modules. Absent if there are too many.",
    ),
  ),
  local_modules: Type.Optional(
    about(
      Type.Array(Text, { maxItems: localModulesLimit }),
      "The directories of local modules that the configuration uses, relative to the source.",
    ),
  ),
});
export type PlanSummary = Static<typeof PlanSummary>;

/** A problem document in short. */
export const NotDeployable = Type.Object({ code: Type.String(), detail: Type.String() });

export const planSummaryEndpoints = {
  getPlanSummary: endpoint("GET /api/cli/jobs/{id}/plan", {
    summary: "Read the summary of a PLAN job's plan, or of the plan that a DEPLOY job applies",
    permission: "read",
    inZones: true,
    params: jobParams,
    answer: Type.Object({
      job_id: Uuid,
      /** The PLAN job that made the plan: `job_id` itself unless that is a DEPLOY. */
      plan_job_id: Uuid,
      plan_summary: Nullable(PlanSummary),
      deploy_job_id: about(
        Nullable(Uuid),
        "The DEPLOY that applies or has applied the plan; null if there is none.",
      ),
      not_deployable: about(
        Nullable(NotDeployable),
        "PLAN: why a DEPLOY of it would be refused now, as a problem; null if it would be accepted.",
      ),
    }),
  }),
};
