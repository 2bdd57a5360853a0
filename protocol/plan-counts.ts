/** What a plan does to a resource, and how many resources it changes. */
import { Type, type Static } from "typebox";
import { about, Nullable, OneOf } from "./fields.ts";

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
  only: Type.Optional(
    about(
      OneOf(["outputs", "state"]),
      "What changes if no resource does; absent if a resource changes, if nothing does, and in plans that earlier servers have stored.",
    ),
  ),
});
export type PlanCounts = Static<typeof PlanCounts>;

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

/** How many checks fail, which is a warning. */
export const failedChecks = (what: string) =>
  Type.Optional(about(Nullable(Type.Integer({ minimum: 0 })), what));
