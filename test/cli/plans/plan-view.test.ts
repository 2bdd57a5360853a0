import { describe, expect, test } from "vitest";
import { planMarkdown } from "../../../protocol/plan-text.ts";
import { outcomesView, planView } from "../../../cli/plans/plan-view.ts";
import { emptySummary } from "../../helpers/plane/plan-summaries.ts";
import type { PlanSummary } from "../../../protocol/plan-summary.ts";

const nothing: PlanSummary = { ...emptySummary, applyable: false };

describe("a plan", () => {
  test("folded, it shows instances that change alike in one line, and new ones without values", () => {
    const lines = planView(
      {
        ...nothing,
        counts: { ...nothing.counts, create: 5, update: 2, delete: 2 },
        changes: [
          ...["[0]", "[1]", "[2]", "[3]"].map((key) => ({
            address: `aws_a.new${key}`,
            action: "create" as const,
            attributes: [{ path: "id", unknown: true }],
          })),
          { address: 'aws_b.new["x].y"]', action: "create" },
          ...["[0]", "[1]"].map((key) => ({
            address: `aws_c.old${key}`,
            action: "update" as const,
            attributes: [{ path: "size", before: 1, after: key === "[0]" ? 2 : 3 }],
          })),
          { address: "aws_d.gone[0]", action: "delete" },
          { address: "aws_d.gone[1]", action: "delete" },
        ],
      },
      { folded: true },
    );
    expect(lines.slice(1)).toEqual([
      "    + aws_a.new[0], [1], [2], …  ×4",
      '    + aws_b.new["x].y"]',
      "    ~ aws_c.old[0]",
      "          size: 1 → 2",
      "    ~ aws_c.old[1]",
      "          size: 1 → 3",
      "    - aws_d.gone[0]",
      "    - aws_d.gone[1]",
    ]);
  });

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
        { address: "aws_ip.a", action: "replace", created_first: true },
        {
          address: "aws_vpc.a",
          action: "update",
          attributes: [
            { path: "tags.Name", before: "a\n\u202eb", after: null },
            { path: "password", sensitive: true },
            { path: "text", before: 1, after: "x".repeat(300) },
            {
              path: "serial",
              before: "12345678901234567890",
              after: "1",
              large_numbers: ["before"],
            },
          ],
          previous_address: "aws_vpc.b",
        },
        { address: "aws_vpc.odd", action: "update", attributes: ["tags"] },
        {
          address: "aws_vpc.new",
          action: "create",
          attributes: [
            { path: "id", unknown: true },
            { path: "cidr", after: ["10.0.0.0/8"] },
          ],
        },
      ],
      changes_omitted: 3,
      outputs: [
        { name: "password", action: "create", sensitive: true },
        {
          name: "endpoint",
          action: "update",
          sensitive: false,
          attributes: [{ path: "", before: "a\u001b[2J", after: "b" }],
        },
        {
          name: "pools",
          action: "update",
          sensitive: false,
          attributes: [
            { path: "[0]", before: 1, unknown: true },
            { path: "spot.size", before: 2, after: 4 },
          ],
        },
        {
          name: "old",
          action: "delete",
          sensitive: false,
          attributes: [{ path: "", before: "a", after: null }],
        },
      ],
      drift: [{ address: "aws_vpc.a", action: "update" }],
      checks: [{ address: "check.health", status: "fail" }],
      complete: false,
    });
    expect(lines).toEqual([
      "Plan: 1 to add, 1 to change, 1 to replace, 1 to destroy, 1 to move",
      "    - aws_db.old  (it is no longer in the configuration)",
      "  -/+ aws_db.main  (it cannot be changed in place; because of engine, storage[0].type)",
      "  +/- aws_ip.a  (the new one is created first)",
      "    ~ aws_vpc.a  (moved from aws_vpc.b)",
      '          tags.Name: "a\\n\\u202eb" → null',
      "          password: (sensitive)",
      `          text: 1 → "${"x".repeat(188)}…`,
      '          serial: 12345678901234567890 → "1"',
      "    ~ aws_vpc.odd",
      "          tags",
      "    + aws_vpc.new",
      "          id: (known after the apply)",
      '          cidr: ["10.0.0.0/8"]',
      "  … and 3 more",
      "Outputs:",
      "    + password  (sensitive)",
      '    ~ endpoint: "a\\u001b[2J" → "b"',
      "    ~ pools[0]: 1 → (known after the apply)",
      "    ~ pools.spot.size: 2 → 4",
      "    - old",
      "Changed outside of terraform since the last apply:",
      "    ~ aws_vpc.a",
      "  ! check.health: check failed",
      "This plan may not include all changes. After it is applied, plan again for the rest.",
    ]);
  });

  test("that only destroys says nothing of checks that are known only after the apply", () => {
    const checks = [
      { address: "var.x", status: "unknown" as const },
      { address: "check.y", status: "fail" as const },
    ];
    const counts = { ...nothing.counts, delete: 1 };
    expect(planView({ ...nothing, counts, checks }).join("\n")).not.toContain("var.x");
    expect(planView({ ...nothing, counts, checks }).join("\n")).toContain("check.y");
    expect(planView({ ...nothing, checks }).join("\n")).toContain("var.x");
  });

  test("without changes is shown as no changes, and control sequences in names are removed", () => {
    expect(planView(nothing)).toEqual(["Plan: no changes"]);
    const [refreshed] = planView({ ...nothing, applyable: true });
    expect(refreshed).toBe("Plan: only the state changes");
    const address = 'a["\u001b[2J\u001b]0;title\u0007\r\nx"]';
    const [, line] = planView({ ...nothing, changes: [{ address, action: "create" }] });
    expect(line).toBe('    + a[" x"]');
  });

  test("that was applied has a headline in the past tense, and each resource its outcome", () => {
    const plan: PlanSummary = {
      ...nothing,
      applyable: true,
      counts: { ...nothing.counts, create: 2, delete: 1 },
      changes: [
        { address: "a.gone", action: "delete" },
        { address: "a.made", action: "create" },
        { address: "a.late", action: "create" },
      ],
    };
    const resources = [
      { address: "a.gone", action: "delete", outcome: "failed" },
      { address: "a.made", action: "create", outcome: "done" },
      { address: "a.late", action: "create", outcome: "not_reached" },
    ] as const;
    const resource_progress = { done: 1, open: 0, failed: 1, total: 3, resources: [...resources] };
    const job = { status: "FAILED", started_at: "", resource_progress } as const;
    expect(planView(plan, { applied: job })).toEqual([
      "Apply failed: 1 of 3 done, 1 failed, 1 not reached",
      "    - a.gone: failed",
      "    + a.made: done",
      "    + a.late: not reached",
    ]);
    const head = (more: object) => planView(plan, { applied: { ...job, ...more } })[0];
    expect(head({ status: "SUCCESS", resource_progress: null })).toBe(
      "Applied: 2 added, 1 destroyed",
    );
    expect(head({ status: "CANCELLED", started_at: null, resource_progress: null })).toBe(
      "Not applied. Plan: 2 to add, 1 to destroy",
    );
    expect(head({ resource_progress: null })).toBe("Apply failed. Plan: 2 to add, 1 to destroy");
    // A DEPLOY that planned by itself has no known plan.
    expect(outcomesView({ status: "CANCELLED" }, { ...resource_progress, total: null })).toEqual([
      "Apply cancelled: 1 done, 1 failed",
      "    - a.gone: failed",
      "    + a.made: done",
      "    + a.late: not reached",
    ]);
  });

  test("that was applied does not promise what was not known when it was planned", () => {
    const attributes = [{ path: "id", unknown: true }];
    const plan: PlanSummary = {
      ...nothing,
      applyable: true,
      counts: { ...nothing.counts, create: 1 },
      changes: [{ address: "a.made", action: "create", attributes }],
      outputs: [
        {
          name: "id",
          action: "create",
          sensitive: false,
          attributes: [{ path: "", unknown: true }],
        },
      ],
      checks: [{ address: "check.health", status: "unknown" }],
    };
    const ended = { started_at: "", resource_progress: null };
    for (const status of ["SUCCESS", "FAILED", "CANCELLED"] as const)
      expect(planView(plan, { applied: { ...ended, status } }).slice(1)).toEqual([
        "    + a.made",
        "          id: (not known when it was planned)",
        "Outputs:",
        "    + id: (not known when it was planned)",
        "  ! check.health: check was not known when it was planned",
      ]);
    expect(planView(plan).slice(2)).toEqual([
      "          id: (known after the apply)",
      "Outputs:",
      "    + id: (known after the apply)",
      "  ! check.health: check is evaluated after the apply",
    ]);
  });

  test("that may leave changes out says what to do as long as it is still to be done", () => {
    const partial = { ...nothing, complete: false };
    const job = { status: "SUCCESS", started_at: "", resource_progress: null } as const;
    const past = "This plan may not have included all changes";
    for (const [shown, text] of [
      [{ applied: job }, `${past}: plan again for the rest.`],
      [{ deployment: job }, `${past}: plan again for the rest.`],
      [{ applied: { ...job, status: "FAILED" } }, `${past}.`],
    ] as const)
      expect(planView(partial, shown).at(-1)).toBe(text);
  });

  test("without attributes names a few that change", () => {
    const attributes = Array.from({ length: 7 }, (_, at) => ({
      path: `a${at}`,
      before: 1,
      after: 2,
    }));
    const changes = [{ address: "x.y", action: "update" as const, attributes }];
    const [, ...lines] = planView({ ...nothing, changes }, { attributes: false });
    expect(lines).toEqual(["    ~ x.y  (a0, a1, a2, a3, a4, …)"]);
  });
});

describe("a plan as Markdown", () => {
  test("is a headline and a diff", () => {
    const text = planMarkdown("network", {
      ...nothing,
      counts: { ...nothing.counts, update: 1, delete: 1 },
      changes: [
        { address: "x.old", action: "delete", attributes: [{ path: "id", before: "1" }] },
        { address: "x.y", action: "update", attributes: [{ path: "a", before: 1, after: 2 }] },
      ],
      changes_omitted: 2,
    });
    expect(text).toBe(
      "**Plan: 1 to change, 1 to destroy** (`network`)\n\n<details><summary>Changes</summary>\n\n```diff\n- x.old\n! x.y\n!     a: 1 → 2\n# … and 2 more resources\n```\n\n</details>\n",
    );
    expect(planMarkdown("a`b", nothing)).toBe("**Plan: no changes** (`` a`b ``)\n");
  });

  test("says how the plan differs from an ordinary one", () => {
    const targets = ['module.dns["<a>"]'];
    const options = { destroy: false, refresh_only: false, targets, replace: ["x.y"] };
    const partial = { ...nothing, applyable: true, complete: false };
    expect(planMarkdown("network", partial, { options })).toBe(
      [
        "**Plan: only the state changes** (`network`)",
        "",
        'This plan is limited to `module.dns["<a>"]`, and what it depends on.',
        "A replacement was requested of `x.y`.",
        "This plan may not include all changes. After it is applied, plan again for the rest.",
        "",
      ].join("\n"),
    );
    const applied = { status: "SUCCESS", started_at: "", apply_began: true } as const;
    const done = planMarkdown("network", partial, { applied });
    expect(done).toMatch(
      /\n\nThis plan may not have included all changes: plan again for the rest\.\n$/,
    );
  });

  test("keeps hostile text inside its fence, and fits into a comment", () => {
    const after = "````\n<img src=x onerror=alert(1)>\n`````";
    const changes = Array.from({ length: 2000 }, () => ({
      address: 'x["```"]',
      action: "create" as const,
      attributes: [{ path: "a", after }],
    }));
    const text = planMarkdown("network", { ...nothing, changes });
    expect(text).toContain("\n``````diff\n");
    expect(text.split("\n").filter((line) => line.startsWith("`"))).toHaveLength(2);
    expect(text).toMatch(/# … and \d+ more lines\n``````\n/);
    expect(text.length).toBeLessThan(65_536);
  });
});
