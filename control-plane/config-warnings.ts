/** Warnings about settings that are valid but have no effect as they stand, for the log. */
import type { Providers } from "./domain/providers.ts";
import type { SignInRule } from "./domain/sign-in-allow.ts";

/** Warns about settings without effect; undefined and false count as not set. */
export const unusedWarnings = (why: string, given: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(given)
    .filter(([, value]) => value !== undefined && value !== false)
    .map(([name]) => `${name} has no effect, because ${why}, or remove it`);

/** Warns about a list that allows no one, or an entry that cannot match. */
export function signInWarnings(providers: Providers, rules: readonly SignInRule[]): string[] {
  const isOn = Object.keys(providers).length > 0;
  const groups = rules.filter((rule) => rule.kind === "group");
  const off = new Set(groups.map(({ provider }) => provider).filter((name) => !providers[name]));
  return [
    ...(isOn && rules.length === 0
      ? [
          "WINDLASS_SIGN_IN_ALLOW is empty: only people who were invited by a link (windlass server login-link) can sign in with a provider",
        ]
      : []),
    ...[...off].map(
      (name) => `WINDLASS_SIGN_IN_ALLOW names groups of ${name}, but sign-in with ${name} is off`,
    ),
  ];
}
