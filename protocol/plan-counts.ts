/** How many resources a plan changes. */
import { Type, type Static } from "typebox";

const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** Resources by action. A replacement counts once; a move or import may also be a change. */
export const PlanCounts = Type.Object({
  create: Count,
  update: Count,
  replace: Count,
  delete: Count,
  forget: Count,
  move: Count,
  import: Count,
});
export type PlanCounts = Static<typeof PlanCounts>;
