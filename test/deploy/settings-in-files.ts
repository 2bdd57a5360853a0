/** What the files in deploy/ are compared with. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { registry, type Role } from "../../common/settings/registry.ts";
import { root } from "../helpers/project/source-files.ts";

/** Returns the names that are no setting of a role. Variables of the AWS SDK are not ours. */
export function unknownSettings(role: Role, names: readonly string[]): string[] {
  const known = new Set(registry[role].flatMap(({ settings }) => Object.keys(settings)));
  return names.filter(
    (name) =>
      !name.startsWith("AWS_") && !known.has(name) && !known.has(name.replace(/_FILE$/, "")),
  );
}

/** Seconds of a duration such as `60s` or `75m`. */
export function secondsOf(duration: string): number {
  const [, amount, unit] = /^(\d+)([sm])$/.exec(duration) ?? [];
  return Number(amount) * (unit === "m" ? 60 : 1);
}

/** The time after which an agent in our image cancels its jobs. */
export function imageStopSeconds(): number {
  const dockerfile = readFileSync(join(root, "Dockerfile"), "utf8");
  return Number(/WINDLASS_STOP_SECONDS=(\d+)/.exec(dockerfile)?.[1]);
}
