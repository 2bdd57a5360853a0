/** Features that older runners lack. A job that needs one goes only to a runner that reports it. */
import type { ConfigSnapshot } from "./configurations.ts";

/** Sorted by name. A runner may report others, which are ignored. */
export const features = ["backend_config", "debug", "submodules", "var_files"] as const;
export type Feature = (typeof features)[number];

/** Returns the features that a runner needs for a job of this snapshot. */
export const featuresOf = (snapshot: ConfigSnapshot, debug = false): Feature[] =>
  features.filter((feature) => isUsed(feature === "debug" ? debug : snapshot[feature]));

function isUsed(field: ConfigSnapshot[Exclude<Feature, "debug">]): boolean {
  return typeof field === "object" ? Object.keys(field).length > 0 : field === true;
}
