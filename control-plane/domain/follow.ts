/** What following a branch means, apart from any store or host. */
import type { Follow, WriteFollow } from "../../protocol/follow.ts";
import { followDefaults } from "../../protocol/follow.ts";
import type { Definition, Entry } from "./snapshot-values.ts";

/** The fields of `WriteFollow` with their defaults, as they are stored. */
export type FollowSettings = Pick<Follow, keyof typeof followDefaults> & {
  /** Why the host sends no events, and what to do; null: they are registered. */
  readonly webhook_problem: string | null;
};

export const followSettings = (
  { connection_id: _id, branch: _branch, ...given }: WriteFollow,
  webhook_problem: string | null,
): FollowSettings => ({ ...followDefaults, ...given, webhook_problem });

/** What lets code of a pull request's author reach more than what the repository shows. */
export const isPrivileged = ({ values, forks = "off", commands }: WriteFollow): boolean =>
  values === "all" || forks !== "off" || commands === true;

const groups = ["variables", "environment"] as const;

/** The definition that a PLAN of a pull request gets, and the names of the values that it lacks. */
export function withoutWithheld<T extends Pick<Definition, (typeof groups)[number]>>(
  definition: T,
  values: Follow["values"],
): { readonly definition: T; readonly names: string[] } {
  const names = new Set<string>();
  const changed: Pick<Definition, (typeof groups)[number]> = {};
  const isWithheld = (entry: unknown) =>
    values === "none" || (values === "plain" && (entry as Entry | null)?.sensitive === true);
  for (const group of groups) {
    const entries = Object.entries(definition[group] ?? {});
    for (const [name, entry] of entries) if (isWithheld(entry)) names.add(name);
    if (definition[group])
      changed[group] = Object.fromEntries(entries.filter(([, entry]) => !isWithheld(entry)));
  }
  return { definition: { ...definition, ...changed }, names: [...names].toSorted() };
}

/** A list of names in a sentence ends here. */
const shownNames = 10;

/** What a PLAN of a pull request will lack, for the person who decides about `values`. */
export function withheldWarnings(
  { values, pull_requests }: Pick<Follow, "values" | "pull_requests">,
  definition: Pick<Definition, (typeof groups)[number]>,
  lacksPlanRole: boolean,
): string[] {
  if (pull_requests === "off") return [];
  const { names } = withoutWithheld(definition, values);
  const more = names.length - shownNames;
  const listed = names.slice(0, shownNames).join(", ") + (more > 0 ? ` and ${more} more` : "");
  return [
    ...(names.length > 0 ? [`plans of pull requests do not get the values of ${listed}`] : []),
    ...(lacksPlanRole && values !== "all"
      ? ["plans of pull requests run without the cloud identity, which has no role for plans"]
      : []),
  ];
}

/**
 * The full name of the repository that a git address names at a host; undefined if it is an address
 * of another host. A credential is sent there, so scheme and port count too.
 */
export function repositoryIn(address: string, host: string): string | undefined {
  const base = new URL(host);
  const scp = /^[^@/]+@([^:/]+):(.+)$/.exec(address);
  const url = URL.parse(scp ? `ssh://${scp[1]}/${scp[2]}` : address);
  if (!url) return undefined;
  const isSsh = url.protocol === "ssh:";
  if (isSsh ? url.hostname !== base.hostname : url.origin !== base.origin) return undefined;
  const prefix = isSsh ? "/" : `${base.pathname.replace(/\/+$/, "")}/`;
  if (!url.pathname.startsWith(prefix)) return undefined;
  const name = url.pathname
    .slice(prefix.length)
    .replace(/\/+$/, "")
    .replace(/\.git$/, "");
  try {
    return name.includes("/") ? decodeURIComponent(name) : undefined;
  } catch {
    return undefined;
  }
}
