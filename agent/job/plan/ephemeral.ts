/**
 * Ephemeral input variables (terraform 1.10, OpenTofu 1.11): a plan does not contain their values,
 * so `apply` must get them again.
 *
 * Which variables are ephemeral is not asked: `show -json` names an ephemeral one that has a default
 * as if the plan contained the default, and `apply` accepts other variables as long as their values
 * are those of the plan (measured with terraform 1.11.4: every type, null, and values that are
 * converted).
 */
import { compareVersions, parseVersion } from "../../../common/version-constraint.ts";
import { known, type JobContext } from "../context.ts";
import { mentions } from "../mentions.ts";

const words = { terraform: ["ephemeral"], opentofu: ["ephemeral", "encryption"] } as const;

/** Older engines refuse values of variables beside a plan. */
const first = { terraform: parseVersion("1.10.0"), opentofu: parseVersion("1.11.0") } as const;

/**
 * Whether `apply` may need variables that the plan does not give it: ephemeral ones, and with OpenTofu
 * those with which the plan is encrypted. False is certain.
 */
export function appliesWithVariables(context: JobContext): boolean {
  const { engine, version } = known(context, "engine");
  const [since, used] = [first[engine], parseVersion(version)];
  if (!since || !used || compareVersions(used, since) < 0) return false;
  return mentions(context.workspace.root, known(context, "folder"), words[engine]);
}
