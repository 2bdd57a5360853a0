/** How the plan after a merge differs from the reviewed one, in words. */
import type { PlanAction } from "./plan-counts.ts";
import { visible } from "./plan-text.ts";
import type { ReviewedPlan } from "./reviewed-plan.ts";

const done: Readonly<Record<PlanAction, string>> = {
  create: "created",
  update: "changed",
  replace: "replaced",
  delete: "destroyed",
  forget: "forgotten",
  read: "read",
  none: "moved or imported",
};

/** Says in a sentence whether it is the plan that was reviewed. */
export const reviewedText = ({
  equal,
  approvals_refused: refusal,
}: Pick<ReviewedPlan, "equal" | "approvals_refused">): string =>
  equal
    ? `The plan is the one that was reviewed${refusal === null ? ", so its approvals count." : `, but its approvals do not count: ${refusal}.`}`
    : "The plan differs from the one that was reviewed.";

/** Both, for the command line and a comment. */
export const reviewedLines = (reviewed: ReviewedPlan): string[] => [
  reviewedText(reviewed),
  ...differenceLines(reviewed),
];

/** A line for each difference. */
export function differenceLines({
  equal,
  differences,
  differences_omitted: more,
}: ReviewedPlan): string[] {
  if (equal) return [];
  if (differences.length === 0) return ["They differ in values that plans do not show."];
  return [
    ...differences.map(({ address, reviewed, merged }) =>
      visible(
        reviewed === merged
          ? `${address}: other values`
          : `${address}: ${merged === null ? "no longer changed" : done[merged]}, reviewed as ${reviewed === null ? "not changed" : done[reviewed]}`,
      ),
    ),
    ...(more > 0 ? [`and ${more} more`] : []),
  ];
}
