/** What a plan would do, small enough to be understood before it is read: counts, addresses and reasons, never a value. */
import { Type, type Static } from "typebox";
import { endpoint } from "./endpoint.ts";
import { Nullable, OneOf, Uuid } from "./fields.ts";
import { jobParams } from "./jobs.ts";
import { planListLimit, planTextLimit } from "./limits.ts";

export { planListLimit, planSummaryLimit } from "./limits.ts";

/** What happens to one resource. `none`: only its address or its place in the state changes (a move, an import). */
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
  /** Terraform's word for why, such as `replace_because_cannot_update`. */
  reason: Type.Optional(Text),
  /** The attributes that force the replacement. */
  replaced_by: Type.Optional(Type.Array(Text, { maxItems: 20 })),
  /** Names of the attributes that change. */
  attributes: Type.Optional(Type.Array(Text, { maxItems: 20 })),
  /** It moved here from this address. */
  previous_address: Type.Optional(Text),
  /** It exists already and is taken into the state. */
  imported: Type.Optional(Type.Boolean()),
});
export type PlannedChange = Static<typeof PlannedChange>;

const OutputChange = Type.Object({ name: Text, action: PlanAction, sensitive: Type.Boolean() });

export const PlanSummary = Type.Object({
  /** How many resources, by what happens to them. A replacement counts once; a move or import may be a change too. */
  counts: Type.Object({
    create: Count,
    update: Count,
    replace: Count,
    delete: Count,
    forget: Count,
    move: Count,
    import: Count,
  }),
  /** Deletions and replacements first, else in terraform's order. */
  changes: list(PlannedChange),
  changes_omitted: Count,
  /** What changed outside of terraform since the last apply. */
  drift: list(Type.Object({ address: Text, action: PlanAction })),
  drift_omitted: Count,
  outputs: list(OutputChange),
  outputs_omitted: Count,
  /** Checks and conditions that do not hold, or are known only after the apply. */
  checks: list(Type.Object({ address: Text, status: OneOf(["fail", "error", "unknown"]) })),
  /** Nothing to do when false. */
  applyable: Type.Boolean(),
  /** False when another plan is needed after this one is applied (targets, deferred changes). */
  complete: Type.Boolean(),
});
export type PlanSummary = Static<typeof PlanSummary>;

export const planSummaryEndpoints = {
  getPlanSummary: endpoint({
    method: "GET",
    path: "/api/cli/jobs/{id}/plan",
    summary: "Read what a PLAN would do; of a DEPLOY, the plan that it names",
    caller: "client",
    params: jobParams,
    status: 200,
    answer: Type.Object({
      job_id: Uuid,
      /** The PLAN job that made it: `job_id` itself unless that is a DEPLOY. */
      plan_job_id: Uuid,
      plan_summary: Nullable(PlanSummary),
    }),
  }),
};
