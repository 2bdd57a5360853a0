/** What an OpenID Connect provider says of a person. Pure. */
import { groupNameLimit } from "../../protocol/limits.ts";

export type Claims = Readonly<Record<string, unknown>>;

/** How many groups of a person are kept, and how long the name of one may be. */
export const groupLimits = { count: 2000, length: groupNameLimit } as const;
const nameLimit = 200;

/**
 * The groups of a person: a list or one name, from the first of these claims that has any. `claim`
 * is a key, or keys joined by dots; a key that contains dots itself is tried first.
 */
export function groupsIn(sources: readonly Claims[], claim: string): string[] {
  for (const claims of sources) {
    const found = valueAt(claims, claim);
    const names = (Array.isArray(found) ? found : [found]).filter(
      (one): one is string =>
        typeof one === "string" && one.length <= groupLimits.length && isPlain(one),
    );
    if (names.length > 0) return [...new Set(names)].slice(0, groupLimits.count);
  }
  return [];
}

/** Without what no database or request can have in the name of a group. */
const isPlain = (name: string): boolean => name.isWellFormed() && /^[^\p{Cc}]+$/u.test(name);

/** The groups of a person as an account has them. */
export const groupColumns = (groups: readonly string[] | undefined, now: number) => ({
  groups: groups === undefined ? null : JSON.stringify(groups),
  groups_at: groups === undefined || groups.length === 0 ? null : now,
});

/** What a key, or a path of keys, leads to. */
export function valueAt(claims: Claims, claim: string): unknown {
  if (Object.hasOwn(claims, claim)) return claims[claim];
  let value: unknown = claims;
  for (const key of claim.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Claims)[key];
  }
  return value;
}

/** Whether Entra left the groups out because there are too many (its "overage" claims). */
export function leavesGroupsOut(claims: Claims, claim: string): boolean {
  const names = claims["_claim_names"];
  const isElsewhere = typeof names === "object" && names !== null && Object.hasOwn(names, claim);
  return isElsewhere || claims["hasgroups"] === true || claims["hasgroups"] === "true";
}

export const isAddress = (text: unknown): text is string =>
  typeof text === "string" && text.length <= 254 && /^[^\s@]+@[^\s@]+$/.test(text);

/**
 * How a person without a verified address is shown. The blank keeps it from matching an address
 * anywhere: in accounts, invitations and lists of who is allowed.
 */
export function unverifiedName(claims: Claims, subject: string): string {
  const texts = [claims["email"], claims["preferred_username"], claims["name"], subject];
  const text = texts.find((one) => typeof one === "string" && one.trim() !== "") as string;
  // Characters that a terminal or a page obeys: of controls, and of the direction of writing.
  const plain = text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "").slice(0, nameLimit);
  return `${plain} (not verified)`;
}
