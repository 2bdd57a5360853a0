import { describe, expect, test } from "vitest";
import { planView } from "../../../cli/plans/plan-view.ts";
import type { PlanSummary } from "../../../protocol/plan-summary.ts";

const nothing: PlanSummary = {
  counts: { create: 0, update: 0, replace: 0, delete: 0, forget: 0, move: 0, import: 0 },
  changes: [],
  changes_omitted: 0,
  drift: [],
  drift_omitted: 0,
  outputs: [],
  outputs_omitted: 0,
  checks: [],
  applyable: false,
  complete: true,
};

describe("a plan", () => {
  test("is shown as counts, then as one line per resource with its sign and reason", () => {
    const lines = planView({
      ...nothing,
      applyable: true,
      counts: { ...nothing.counts, create: 1, update: 1, replace: 1, delete: 1, move: 1 },
      changes: [
        { address: "aws_db.old", action: "delete", reason: "delete_because_no_resource_config" },
        {
          address: "aws_db.main",
          action: "replace",
          reason: "replace_because_cannot_update",
          replaced_by: ["engine", "storage[0].type"],
        },
        {
          address: "aws_vpc.a",
          action: "update",
          attributes: ["tags"],
          previous_address: "aws_vpc.b",
        },
        { address: "aws_vpc.new", action: "create" },
      ],
      changes_omitted: 3,
      outputs: [{ name: "password", action: "create", sensitive: true }],
      drift: [{ address: "aws_vpc.a", action: "update" }],
      checks: [{ address: "check.health", status: "fail" }],
      complete: false,
    });
    expect(lines).toEqual([
      "Plan: 1 to add, 1 to change, 1 to replace, 1 to destroy, 1 to move",
      "    - aws_db.old  (it is no longer in the configuration)",
      "  -/+ aws_db.main  (it cannot be changed in place; because of engine, storage[0].type)",
      "    ~ aws_vpc.a  (moved from aws_vpc.b; tags)",
      "    + aws_vpc.new",
      "  … and 3 more",
      "Outputs:",
      "    + password  (sensitive)",
      "Changed outside of terraform since the last apply:",
      "    ~ aws_vpc.a",
      "  ! check.health: check failed",
      "This plan is partial. After applying it, plan again for the remaining changes.",
    ]);
  });

  test("without changes is shown as no changes, and control sequences in names are removed", () => {
    expect(planView(nothing)).toEqual(["Plan: no changes"]);
    const address = 'a["\u001b[2J\u001b]0;title\u0007\r\nx"]';
    const [, line] = planView({ ...nothing, changes: [{ address, action: "create" }] });
    expect(line).toBe('    + a[" x"]');
  });
});
