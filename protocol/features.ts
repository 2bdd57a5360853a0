/** Features that older runners lack. A job that needs one goes only to a runner that reports it. */
import type { ConfigSnapshot } from "./configurations.ts";

/** Sorted by name. A runner may report others, which are ignored. */
export const features = [
  "backend_config",
  "debug",
  "exclude",
  "plan_options",
  "submodules",
  "var_files",
] as const;
export type Feature = (typeof features)[number];

/** Features that a request asks for. The configuration asks for the others. */
export type RequestFeatures = Readonly<Record<"debug" | "exclude" | "plan_options", boolean>>;

/** Returns the features that a runner needs for a job of this snapshot. */
export const featuresOf = (snapshot: ConfigSnapshot, request: RequestFeatures): Feature[] =>
  features.filter((feature) =>
    feature in request
      ? request[feature as keyof RequestFeatures]
      : isUsed(snapshot[feature as Exclude<Feature, keyof RequestFeatures>]),
  );

function isUsed(field: ConfigSnapshot[Exclude<Feature, keyof RequestFeatures>]): boolean {
  return typeof field === "object" ? Object.keys(field).length > 0 : field === true;
}
