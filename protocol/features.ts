/** What a runner may not be able to do: a job that needs it goes only to a runner whose heartbeat reports it. */
import type { ConfigSnapshot } from "./configurations.ts";

/** In order of their names. A runner may report others, which nothing needs yet. */
export const features = ["backend_config", "debug", "submodules", "var_files"] as const;
export type Feature = (typeof features)[number];

/** What a runner must be able to do to run a job of this snapshot, with or without a debug log. */
export const featuresOf = (snapshot: ConfigSnapshot, debug = false): Feature[] =>
  features.filter((feature) => isUsed(feature === "debug" ? debug : snapshot[feature]));

function isUsed(field: ConfigSnapshot[Exclude<Feature, "debug">]): boolean {
  return typeof field === "object" ? Object.keys(field).length > 0 : field === true;
}
