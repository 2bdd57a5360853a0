/** The summary of a plan: counts, addresses and reasons, but never values. */
import { Type, type Static } from "typebox";
import { endpoint } from "./endpoint.ts";
import { Nullable, OneOf, Uuid } from "./fields.ts";
import { jobParams } from "./jobs.ts";
import { planListLimit, planTextLimit } from "./limits.ts";

export { planListLimit, planSummaryLimit } from "./limits.ts";

/** What happens to one resource. `none`: only its place in the state changes (move, import). */
export const PlanAction = OneOf([
  "create",
  "update",
  "replace",
  "delete",
  "forget",
  "read",
  "none",
]);
export type PlanAction = Static<typeof PlanAction>;

const Text = Type.String({ maxLength: planTextLimit });
const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const list = <T extends Parameters<typeof Type.Array>[0]>(items: T) =>
  Type.Array(items, { maxItems: planListLimit });

export const PlannedChange = Type.Object({
  address: Text,
  action: PlanAction,
  /** Terraform's name of the reason, such as `replace_because_cannot_update`. */
  reason: Type.Optional(Text),
  /** The attributes that force the replacement. */
  replaced_by: Type.Optional(Type.Array(Text, { maxItems: 20 })),
  /** Names of the attributes that change. */
  attributes: Type.Optional(Type.Array(Text, { maxItems: 20 })),
  /** The address before a move. */
  previous_address: Type.Optional(Text),
  /** Whether an existing resource is imported into the state. */
  imported: Type.Optional(Type.Boolean()),
});
export type PlannedChange = Static<typeof PlannedChange>;

const OutputChange = Type.Object({ name: Text, action: PlanAction, sensitive: Type.Boolean() });

export const PlanSummary = Type.Object({
  /** Resources by action. A replacement counts once; a move or import may also be a change. */
  counts: Type.Object({
    create: Count,
    update: Count,
    replace: Count,
    delete: Count,
    forget: Count,
    move: Count,
    import: Count,
  }),
  /** Deletions and replacements first, then the others in terraform's order. */
  changes: list(PlannedChange),
  changes_omitted: Count,
  /** What changed outside of terraform since the last apply. */
  drift: list(Type.Object({ address: Text, action: PlanAction })),
  drift_omitted: Count,
  outputs: list(OutputChange),
  outputs_omitted: Count,
  /** Checks and conditions that fail, or are known only after the apply. */
  checks: list(Type.Object({ address: Text, status: OneOf(["fail", "error", "unknown"]) })),
  /** Whether there is anything to apply. */
  applyable: Type.Boolean(),
  /** False if another plan is needed after this one is applied (targets, deferred changes). */
  complete: Type.Boolean(),
});
export type PlanSummary = Static<typeof PlanSummary>;

export const planSummaryEndpoints = {
  getPlanSummary: endpoint({
    method: "GET",
    path: "/api/cli/jobs/{id}/plan",
    summary: "Read the summary of a PLAN job's plan, or of the plan that a DEPLOY job applies",
    caller: "client",
    params: jobParams,
    status: 200,
    answer: Type.Object({
      job_id: Uuid,
      /** The PLAN job that made the plan: `job_id` itself unless that is a DEPLOY. */
      plan_job_id: Uuid,
      plan_summary: Nullable(PlanSummary),
    }),
  }),
};
