/** What a runner may not be able to do: a job that needs it goes only to a runner whose heartbeat reports it. */
import { Type } from "typebox";
import type { ConfigSnapshot } from "./configurations.ts";

/** In order of their names. A runner may report others, which nothing needs yet. */
export const features = ["backend_config", "submodules", "var_files"] as const;
export type Feature = (typeof features)[number];

export const Features = Type.Array(Type.String({ maxLength: 64, pattern: "^[a-z][a-z0-9_]*$" }), {
  maxItems: 64,
  uniqueItems: true,
  description: `What it can do beyond running a plain configuration: ${features.map((name) => `\`${name}\``).join(", ")}. A job that needs one goes only to a runner that reports it.`,
});

/** What a runner must be able to do to run a configuration. */
export const featuresOf = (snapshot: ConfigSnapshot): Feature[] =>
  features.filter((feature) => isUsed(snapshot[feature]));

function isUsed(field: ConfigSnapshot[Feature]): boolean {
  return typeof field === "object" ? Object.keys(field).length > 0 : field === true;
}
