/**
 * Formats a plan summary: counts, then each resource with its sign and the reason of a replacement.
 */
import type { PlanAction, PlannedChange, PlanSummary } from "../../protocol/plan-summary.ts";
import { planReason } from "../../protocol/words.ts";
import { clean, styled } from "../terminal/output.ts";

const signs: Readonly<
  Record<PlanAction, readonly [sign: string, style: Parameters<typeof styled>[0]]>
> = {
  create: ["+", "green"],
  update: ["~", "yellow"],
  replace: ["-/+", "magenta"],
  delete: ["-", "red"],
  forget: [".", "yellow"],
  read: ["<=", "cyan"],
  none: ["", "dim"],
};

/** Returns the plan as lines. */
export function planView(plan: PlanSummary): string[] {
  const lines = [styled("bold", headline(plan))];
  for (const change of plan.changes) lines.push(changeLine(change));
  if (plan.changes_omitted > 0) lines.push(`  … and ${plan.changes_omitted} more`);
  if (plan.outputs.some(({ action }) => action !== "none")) {
    lines.push("Outputs:");
    for (const { name, action, sensitive } of plan.outputs)
      if (action !== "none") lines.push(signed(action, name, sensitive ? "sensitive" : ""));
  }
  if (plan.drift.length > 0) {
    lines.push("Changed outside of terraform since the last apply:");
    for (const { address, action } of plan.drift) lines.push(signed(action, address));
    if (plan.drift_omitted > 0) lines.push(`  … and ${plan.drift_omitted} more`);
  }
  for (const { address, status } of plan.checks)
    lines.push(
      styled(status === "unknown" ? "yellow" : "red", `  ! ${clean(address)}: ${checks[status]}`),
    );
  if (!plan.complete)
    lines.push("This plan is partial. After applying it, plan again for the remaining changes.");
  return lines;
}

const checks = {
  fail: "check failed",
  error: "check could not be evaluated",
  unknown: "check is evaluated after the apply",
};

/** Returns a headline such as `Plan: 2 to add, 1 to replace`. */
function headline({ counts, applyable }: PlanSummary): string {
  const parts = [
    [counts.create, "to add"],
    [counts.update, "to change"],
    [counts.replace, "to replace"],
    [counts.delete, "to destroy"],
    [counts.forget, "to forget"],
    [counts.move, "to move"],
    [counts.import, "to import"],
  ] as const;
  const said = parts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  if (said.length > 0) return `Plan: ${said.join(", ")}`;
  return applyable ? "Plan: only outputs change" : "Plan: no changes";
}

function changeLine(change: PlannedChange): string {
  const { address, action, reason, replaced_by, attributes, previous_address, imported } = change;
  const notes = [
    previous_address === undefined ? "" : `moved from ${previous_address}`,
    imported ? "imported" : "",
    reason === undefined ? "" : planReason(reason),
    replaced_by?.length ? `because of ${replaced_by.join(", ")}` : "",
    action === "update" && attributes?.length ? attributes.join(", ") : "",
  ];
  return signed(action, address, notes.filter(Boolean).join("; "));
}

function signed(action: PlanAction, name: string, note = ""): string {
  const [sign, style] = signs[action];
  const said = note === "" ? "" : styled("dim", `  (${clean(note)})`);
  return `${styled(style, `${sign.padStart(5)} ${clean(name)}`)}${said}`;
}
