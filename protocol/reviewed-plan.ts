/** How the plan after a merge differs from the one that was reviewed in the pull request. */
import { Type, type Static } from "typebox";
import { about, Nullable, Uuid } from "./fields.ts";
import { planTextLimit } from "./limits.ts";
import { PlanAction } from "./plan-counts.ts";

/** How many resources and outputs a difference names. */
export const differencesLimit = 50;

const PlanDifference = Type.Object({
  address: about(
    Type.String({ maxLength: planTextLimit + 7 }),
    "A resource, or `output.` and the name of an output.",
  ),
  reviewed: about(Nullable(PlanAction), "What was reviewed; null: nothing."),
  merged: about(Nullable(PlanAction), "What is planned after the merge; null: nothing."),
});

export const ReviewedPlan = Type.Object({
  job_id: about(Uuid, "The PLAN of the pull request."),
  equal: about(
    Type.Boolean(),
    "Whether both plans apply the same: whether their digests are equal.",
  ),
  approvals_refused: about(
    Nullable(Type.String()),
    "Why approvals of the pull request's PLAN do not count for the DEPLOY; null: they do.",
  ),
  differences: Type.Array(PlanDifference, { maxItems: differencesLimit }),
  differences_omitted: Type.Integer(),
});
export type ReviewedPlan = Static<typeof ReviewedPlan>;
