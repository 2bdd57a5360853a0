import { ConfigError } from "./config-error.ts";

/** A JSON object with some of a program's limits, for tests, which cannot wait for days. */
const name = "WINDLASS_TEST_LIMITS";

/** Returns these limits, with those in their place that the environment names. */
export function limitsIn<const L extends Readonly<Record<string, number>>>(
  environment: Readonly<Record<string, string | undefined>>,
  limits: L,
): { readonly [N in keyof L]: number } {
  const text = environment[name];
  if (!text) return limits;
  const given = parsed(text);
  const isRight =
    given !== undefined &&
    Object.entries(given).every(
      ([key, value]) => Object.hasOwn(limits, key) && typeof value === "number" && value > 0,
    );
  if (isRight) return { ...limits, ...given };
  throw new ConfigError(
    `${name} must be a JSON object with numbers above 0 for some of ${Object.keys(limits).join(", ")}; it is only for tests: remove it`,
  );
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? { ...value }
      : undefined;
  } catch {
    return undefined;
  }
}
