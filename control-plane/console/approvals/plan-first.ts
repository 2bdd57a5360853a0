/** What is offered in place of a direct deployment where a configuration requires approvals. */
import type { Html } from "../page/html.ts";
import { planButton } from "../plans/plan-options.ts";

/** Starts the plan, whose page has the next step. `targets`: it destroys only these. */
export const planForApproval = (
  configuration: string,
  isDestruction = false,
  targets: readonly string[] = [],
): Html =>
  planButton(
    configuration,
    isDestruction ? "Plan the destruction, then ask for approval" : "Plan, then ask for approval",
    { destroy: isDestruction, targets: [...targets] },
  );
