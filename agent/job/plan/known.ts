/** Reads from `show -json` of a state what the plan did not know, and nothing else. */
import { planListLimit, planTextLimit } from "../../../protocol/limits.ts";
import type { MadeKnown, UnknownValues } from "../../../protocol/made-known.ts";
import { isWithin } from "../../../common/attribute-path.ts";
import type { Secrecy } from "../../../common/redaction/secrecy.ts";
import { AttributeBudget, attributesOf } from "./attributes.ts";
import { moduleDepth } from "./dependencies.ts";
import { readParts } from "./json.ts";
import type { Check } from "./summary.ts";

const paths = [
  ...Array.from({ length: moduleDepth + 1 }, (_, depth) =>
    ["$.values.root_module", ...Array<string>(depth).fill("child_modules.*"), "resources.*"].join(
      ".",
    ),
  ),
  "$.checks.*",
];

interface StateResource {
  readonly address: string;
  readonly values?: unknown;
  readonly sensitive_values?: unknown;
  /** Of an object that a replacement has left behind. */
  readonly deposed_key?: string;
}

export async function readKnown(
  file: string,
  secrecy: Secrecy,
  unknown: UnknownValues,
): Promise<MadeKnown> {
  const wanted = new Map(unknown.resources.map((one) => [one.address, one.paths]));
  const checks = new Set(unknown.checks);
  const budget = new AttributeBudget();
  const known: MadeKnown = { resources: [], checks: [] };
  await readParts(file, paths, (value, list) => {
    if (list === "checks") {
      const { address, status } = value as Check;
      const name = secrecy.mask(address?.to_display ?? "").slice(0, planTextLimit);
      const isTold = checks.delete(name) || status === "fail" || status === "error";
      if (isTold && isStatus(status) && known.checks.length < planListLimit)
        known.checks.push({ address: name, status });
      return;
    }
    const { address, values, sensitive_values, deposed_key } = value as StateResource;
    const asked = wanted.get(address);
    if (asked === undefined || deposed_key !== undefined) return;
    const change = { actions: ["create"], after: values, after_sensitive: sensitive_values };
    const all = [...attributesOf(change, secrecy)];
    const parts = all.filter(({ path }) => asked.some((one) => isWithin(path, one)));
    const { kept } = budget.take(parts, 1);
    if (kept.length > 0) known.resources.push({ address, attributes: kept });
  });
  return known;
}

const isStatus = (status: unknown): status is MadeKnown["checks"][number]["status"] =>
  ["pass", "fail", "error", "unknown"].includes(String(status));
