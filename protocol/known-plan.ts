/** A plan with the values that its apply has made known. */
import { isWithin } from "../common/attribute-path.ts";
import type { ExecutionMetadata } from "./jobs.ts";
import { planListLimit } from "./limits.ts";
import type { KnownAttribute, MadeKnown } from "./made-known.ts";
import { outputOf } from "./outputs.ts";
import type { PlannedAttribute, PlanSummary } from "./plan-summary.ts";
import { attributesOf } from "./plan-text.ts";

/** Puts what the job that applied the plan reports in the place of what was unknown. */
export function withKnown(plan: PlanSummary, reported: ExecutionMetadata | null): PlanSummary {
  const { outputs = {}, made_known: { resources = [], checks = [] } = {} } = reported ?? {};
  const known = new Map(resources.map(({ address, attributes }) => [address, attributes]));
  return {
    ...plan,
    changes: plan.changes.map((change) => {
      const values = known.get(change.address);
      if (values === undefined || change.action === "delete") return change;
      const attributes = attributesOf(change).flatMap((one) => partsOf(one, values));
      return { ...change, attributes };
    }),
    outputs: plan.outputs.map((output) => {
      const { name, attributes } = output;
      if (attributes === undefined || !Object.hasOwn(outputs, name)) return output;
      return { ...output, attributes: attributes.map((one) => inOutput(one, outputs[name])) };
    }),
    checks: checksAfter(plan, checks),
  };
}

/** The plan's, each with its result after the apply, and those that fail only since then. */
export function checksAfter(
  { checks }: Pick<PlanSummary, "checks">,
  results: MadeKnown["checks"],
): PlanSummary["checks"] {
  const after = new Map(results.map(({ address, status }) => [address, status]));
  const kept = checks.flatMap((check) => {
    const status = after.get(check.address) ?? check.status;
    return status === "pass" ? [] : { ...check, status };
  });
  const known = new Set(checks.map(({ address }) => address));
  const others = results.flatMap(({ address, status }) =>
    (status === "fail" || status === "error") && !known.has(address) ? { address, status } : [],
  );
  return [...kept, ...others].slice(0, planListLimit);
}

/** An attribute that was unknown as a whole may have parts now. */
function partsOf(
  attribute: PlannedAttribute,
  known: readonly KnownAttribute[],
): PlannedAttribute[] {
  if (!attribute.unknown || attribute.sensitive) return [attribute];
  const parts = known.filter(({ path }) => isWithin(path, attribute.path));
  if (parts.length === 0) return [attribute];
  const { before, large_numbers: numbers = [] } = attribute;
  return parts.map((part) => {
    const isWhole = part.path === attribute.path && !part.sensitive && before !== undefined;
    const large = [...(isWhole ? numbers : []), ...(part.large_numbers ?? [])];
    return {
      ...part,
      ...(isWhole ? { before } : {}),
      ...(large.length > 0 ? { large_numbers: large } : {}),
    };
  });
}

function inOutput(attribute: PlannedAttribute, reported: unknown): PlannedAttribute {
  if (!attribute.unknown || attribute.sensitive) return attribute;
  const { value, sensitive } = outputOf(reported);
  const after = sensitive ? undefined : valueAt(value, attribute.path);
  return after === undefined ? attribute : { ...attribute, unknown: false, after };
}

/** The part of a value at a path such as `spot[0].id` or `tags["a.b"]`. */
function valueAt(value: unknown, path: string): unknown {
  let part: unknown = value;
  for (const [, name, quoted] of path.matchAll(/([^.[\]"]+)|("(?:[^"\\]|\\.)*")/g)) {
    const key = quoted === undefined ? name! : String(JSON.parse(quoted));
    if (typeof part !== "object" || part === null || !Object.hasOwn(part, key)) return undefined;
    part = (part as Record<string, unknown>)[key];
  }
  return part;
}
