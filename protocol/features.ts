/** Features that older runners lack. A job that needs one goes only to a runner that reports it. */
import type { ConfigSnapshot } from "./configurations.ts";

/** Sorted by name. A runner may report others, which are ignored. */
export const features = [
  "backend_config",
  "debug",
  "exclude",
  "identity_aws_web_identity",
  "identity_azure",
  "identity_gcp",
  "identity_vault",
  "merge",
  "plan_digest",
  "plan_options",
  "source_access",
  "submodules",
  "var_files",
] as const;
export type Feature = (typeof features)[number];

/** Features that a request, its connection or its cloud identity asks for. The configuration asks for the others. */
const requested = [
  "debug",
  "exclude",
  "identity_aws_web_identity",
  "identity_azure",
  "identity_gcp",
  "identity_vault",
  "merge",
  "plan_digest",
  "plan_options",
  "source_access",
] as const satisfies readonly Feature[];
type Requested = (typeof requested)[number];
/** What is absent is not asked for. */
export type RequestFeatures = Readonly<Partial<Record<Requested, boolean>>>;

/** Returns the features that a runner needs for a job of this snapshot. */
export const featuresOf = (snapshot: ConfigSnapshot, request: RequestFeatures): Feature[] =>
  features.filter((feature) =>
    isRequested(feature) ? request[feature] === true : isUsed(snapshot[feature]),
  );

/** Adds the feature that the runner needs for an identity of this provider. */
export const withIdentity = (wanted: readonly string[], provider: string): readonly string[] =>
  features.filter((feature) => wanted.includes(feature) || feature === `identity_${provider}`);

const isRequested = (feature: Feature): feature is Requested =>
  (requested as readonly Feature[]).includes(feature);

function isUsed(field: ConfigSnapshot[Exclude<Feature, Requested>]): boolean {
  return typeof field === "object" ? Object.keys(field).length > 0 : field === true;
}
