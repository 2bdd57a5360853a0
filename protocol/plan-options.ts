/** What a PLAN does with its configuration, apart from planning all of it. */
import { Type, type Static } from "typebox";
import { about, addressLimit, InstanceAddress, ResourceAddress } from "./fields.ts";

const list = <T extends typeof ResourceAddress>(address: T) =>
  Type.Array(address, { maxItems: addressLimit, uniqueItems: true });

/** Recorded in the manifest of the plan. A DEPLOY of the plan does exactly what was planned. */
export const PlanOptions = Type.Object({
  destroy: about(Type.Boolean(), "Destroy everything in the state, or only `targets`."),
  refresh_only: about(
    Type.Boolean(),
    "Change nothing but the state: take over what was changed outside of terraform.",
  ),
  targets: about(
    list(ResourceAddress),
    "Only these resources and modules, and what they depend on. Empty: everything.",
  ),
  replace: about(list(InstanceAddress), "Replace these resources, even if nothing else changes."),
  // Absent if there are none, as in jobs and manifests of earlier versions.
  exclude: Type.Optional(
    about(
      list(ResourceAddress),
      "Everything but these resources and modules, and what depends on them; with `destroy`, what they depend on. Not with `targets`, and only with OpenTofu.",
    ),
  ),
});
export type PlanOptions = Static<typeof PlanOptions>;

const { destroy, refresh_only, targets, replace, exclude } = PlanOptions.properties;
/** In a request, each may be missing. */
export const planOptionFields = {
  destroy: Type.Optional(destroy),
  refresh_only: Type.Optional(refresh_only),
  targets: Type.Optional(targets),
  replace: Type.Optional(replace),
  exclude,
};

/** Returns the options that a request sets; undefined if it sets none. */
export function planOptionsOf({
  destroy = false,
  refresh_only = false,
  targets = [],
  replace = [],
  exclude = [],
}: Partial<PlanOptions>): PlanOptions | undefined {
  const isSet = destroy || refresh_only || targets.length + replace.length + exclude.length > 0;
  if (!isSet) return undefined;
  return { destroy, refresh_only, targets, replace, ...(exclude.length > 0 ? { exclude } : {}) };
}

/** Returns what is wrong with options in combination, as field and message; undefined: nothing. */
export function planOptionsFault({
  destroy,
  refresh_only,
  targets,
  replace,
  exclude = [],
}: PlanOptions): readonly [field: keyof PlanOptions, message: string] | undefined {
  if (destroy && refresh_only) return ["refresh_only", "cannot be combined with destroy"];
  if (replace.length > 0 && (destroy || refresh_only))
    return ["replace", `cannot be combined with ${destroy ? "destroy" : "refresh_only"}`];
  if (targets.length > 0 && exclude.length > 0)
    return ["exclude", "cannot be combined with targets"];
  if (targets.length + replace.length > addressLimit)
    return ["targets", `and replace must have at most ${addressLimit} entries together`];
  if (exclude.length + replace.length > addressLimit)
    return ["exclude", `and replace must have at most ${addressLimit} entries together`];
  return undefined;
}
