/**
 * Ephemeral input variables (terraform 1.10, OpenTofu 1.11): a plan does not contain their values,
 * so `apply` must get them again.
 *
 * Which variables are ephemeral is not asked: `show -json` names an ephemeral one that has a default
 * as if the plan contained the default, and `apply` accepts other variables as long as their values
 * are those of the plan (measured with terraform 1.11.4: every type, null, and values that are
 * converted; the same with OpenTofu 1.12.6).
 */
import { compareVersions, parseVersion } from "../../../common/version-constraint.ts";
import { known, type JobContext } from "../context.ts";
import { mentions } from "../mentions.ts";

/** Older engines refuse values of variables beside a plan. */
const first = { terraform: parseVersion("1.10.0"), opentofu: parseVersion("1.11.0") } as const;

/**
 * Whether `apply` may need variables that the plan lacks: ephemeral ones, and with OpenTofu all,
 * since some may encrypt the plan and `apply` compares the plan's with those that it finds itself
 * (TF_VAR_…, `*.auto.tfvars`). False is certain.
 */
export function appliesWithVariables(context: JobContext): boolean {
  const { engine, version } = known(context, "engine");
  const [since, used] = [first[engine], parseVersion(version)];
  if (!since || !used || compareVersions(used, since) < 0) return false;
  return (
    engine === "opentofu" ||
    mentions(context.workspace.root, known(context, "folder"), ["ephemeral"])
  );
}
