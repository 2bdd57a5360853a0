/** Values for terraform as lines: of configurations, and of variable sets. */
import type { TextValue, Variable } from "../../protocol/configurations.ts";

type Variables = Readonly<Record<string, Variable>>;
type Environment = Readonly<Record<string, TextValue>>;

/** Returns lines such as `region = eu-west-1`, without sensitive values. */
export const variableLines = (variables: Variables = {}): string[] =>
  Object.entries(variables).map(([name, variable]) => `${name} = ${variableText(variable)}`);

/** Returns lines such as `HELM_DRIVER=secret`, without sensitive values. */
export const environmentLines = (environment: Environment = {}): string[] =>
  Object.entries(environment).map(([name, text]) => `${name}=${shownText(text)}`);

const variableText = ({ value, sensitive }: Variable): string =>
  sensitive ? "(sensitive)" : typeof value === "string" ? value : JSON.stringify(value);

const shownText = (text: TextValue): string =>
  typeof text === "string" ? text : text.sensitive ? "(sensitive)" : (text.value ?? "");

interface Values {
  readonly variables?: Variables | undefined;
  readonly environment?: Environment | undefined;
}

/**
 * Returns the lines of a configuration's own values, then those that its sets add, which are in the
 * order in which they win, each with the name of its set.
 */
export function linesWithSets(
  own: Values,
  sets: readonly (Values & { readonly name: string })[],
): { variables: string[]; environment: string[] } {
  const from = <V>(
    values: readonly (Readonly<Record<string, V>> | undefined)[],
    linesOf: (values: Readonly<Record<string, V>>) => string[],
  ): string[] => {
    const taken = new Set<string>();
    return values.flatMap((layer = {}, at) => {
      const given = Object.entries(layer).filter(([name]) => !taken.has(name));
      for (const [name] of given) taken.add(name);
      const set = sets[at - 1];
      const suffix = set ? `  (from the variable set "${set.name}")` : "";
      return linesOf(Object.fromEntries(given)).map((line) => line + suffix);
    });
  };
  return {
    variables: from(
      [own, ...sets].map((one) => one.variables),
      variableLines,
    ),
    environment: from(
      [own, ...sets].map((one) => one.environment),
      environmentLines,
    ),
  };
}
