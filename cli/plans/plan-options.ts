/** The options of `jobs plan` that say how the plan differs from an ordinary one. */
import { planOptionsOf, type PlanOptions } from "../../protocol/plan-options.ts";

export interface PlanOptionWords {
  readonly destroy?: true | undefined;
  readonly refreshOnly?: true | undefined;
  readonly target?: string[] | undefined;
  readonly replace?: string[] | undefined;
}

/** Returns the fields of the request; none for an ordinary plan, which any server accepts. */
export const planFields = (words: PlanOptionWords): Partial<PlanOptions> =>
  planOptionsOf({
    destroy: words.destroy === true,
    refresh_only: words.refreshOnly === true,
    targets: words.target ?? [],
    replace: words.replace ?? [],
  }) ?? {};
