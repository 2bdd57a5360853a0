/** Warns of settings that do not exist. */
import { closest } from "../spelling.ts";
import { moreOidc } from "./oidc.ts";
import { registry, type Role } from "./registry.ts";
import type { Settings } from "./setting.ts";

/** Set by the test runner for the processes that it starts. */
const testNames = [
  "WINDLASS_PROVE",
  "WINDLASS_TEST_LIMITS",
  "WINDLASS_TEST_SEED",
  "WINDLASS_TEST_STORE",
];

/**
 * For each `WINDLASS_` name that no role knows: one environment may serve several. Suggests a
 * setting of this role where one is close.
 */
export function unknownSettings(
  role: Role,
  environment: Readonly<Record<string, string | undefined>>,
): string[] {
  const own = namesOf(role);
  const all = [...own, ...namesOf("server"), ...namesOf("agent"), ...namesOf("client")];
  const known = new Set([...all, ...namesIn(moreOidc), ...testNames]);
  return Object.keys(environment)
    .filter((name) => name.startsWith("WINDLASS_") && !known.has(name))
    .map((name) => {
      const meant = closest(name, own) ?? closest(name, all);
      return `${name} is not a setting and is ignored${meant ? `: did you mean ${meant}?` : ""}`;
    });
}

const namesOf = (role: Role): string[] =>
  registry[role].flatMap(({ settings }) => namesIn(settings));

/** A secret has a second name, for a file. */
const namesIn = (settings: Settings): string[] =>
  Object.entries(settings).flatMap(([name, { type }]) =>
    type === "secret" || type === "secrets" ? [name, `${name}_FILE`] : [name],
  );
