/** How the plan after a merge differs from the one that was reviewed. */
import type { PlanAction } from "../../protocol/plan-counts.ts";
import type { PlanSummary } from "../../protocol/plan-summary.ts";
import { differencesLimit, type ReviewedPlan } from "../../protocol/reviewed-plan.ts";

type Differences = Pick<ReviewedPlan, "differences" | "differences_omitted">;

/** Compares what the summaries show: sensitive values, and what a summary cuts, may differ too. */
export function planDifferences(reviewed: PlanSummary, merged: PlanSummary): Differences {
  const [then, now] = [reviewed, merged].map(entriesOf) as [Entries, Entries];
  const addresses = [...new Set([...then.keys(), ...now.keys()])];
  const different = addresses.filter(
    (one) => JSON.stringify(then.get(one)) !== JSON.stringify(now.get(one)),
  );
  const differences = different.slice(0, differencesLimit).map((address) => ({
    address,
    reviewed: then.get(address)?.action ?? null,
    merged: now.get(address)?.action ?? null,
  }));
  return { differences, differences_omitted: different.length - differences.length };
}

type Entries = ReadonlyMap<string, { readonly action: PlanAction }>;

const entriesOf = ({ changes, outputs }: PlanSummary): Entries =>
  new Map<string, { readonly action: PlanAction }>([
    ...changes.map((one) => [one.address, one] as const),
    ...outputs
      .filter(({ action }) => action !== "none")
      .map((one) => [`output.${one.name}`, one] as const),
  ]);
