import { expect, it } from "vitest";
import { planDifferences } from "../../../control-plane/domain/plan-differences.ts";
import type { PlanSummary } from "../../../protocol/plan-summary.ts";
import { reviewedLines } from "../../../protocol/reviewed-words.ts";
import { emptySummary } from "../../helpers/plane/plan-summaries.ts";

const plan = (...changes: PlanSummary["changes"]): PlanSummary => ({ ...emptySummary, changes });
const review = { job_id: "", equal: false, approvals_refused: "it is another plan" };
const said = (reviewed: PlanSummary, merged: PlanSummary) =>
  reviewedLines({ ...review, ...planDifferences(reviewed, merged) }).slice(1);

it("names each resource and output that is planned otherwise", () => {
  const same = { address: "a.same", action: "create" } as const;
  const [output] = [{ name: "url", action: "update", sensitive: false } as const];
  const reviewed = {
    ...plan(same, { address: "a.gone", action: "create" }, { address: "a.b", action: "update" }),
    outputs: [output],
  };
  const merged = plan(
    { address: "a.b", action: "update", replaced_by: ["x"] },
    { address: "a.new\u001b", action: "delete" },
    same,
  );
  expect(said(reviewed, merged)).toEqual([
    "a.gone: no longer changed, reviewed as created",
    "a.b: other values",
    "output.url: no longer changed, reviewed as changed",
    String.raw`a.new\u001b: destroyed, reviewed as not changed`,
  ]);
});

it("is bounded, and says so where nothing that is shown differs", () => {
  const many = Array.from({ length: 60 }, (_, n) => ({
    address: `a.${n}`,
    action: "create" as const,
  }));
  const lines = said(plan(), plan(...many));
  expect([lines.length, lines.at(-1)]).toEqual([51, "and 10 more"]);
  expect(said(plan(), plan())).toEqual(["They differ in values that plans do not show."]);
});
