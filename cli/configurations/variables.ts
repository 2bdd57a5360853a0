/** Reads variables from options and files, and secret ones from stdin or a prompt without echo. */
import { readFileSync } from "node:fs";
import type { TextValue, Variable } from "../../protocol/configurations.ts";
import { parseExactly } from "../../common/exact-json.ts";
import { fileErrorText } from "../../common/file-errors.ts";
import { askSecret } from "../terminal/ask.ts";
import { CliError, say } from "../terminal/output.ts";
import { jsonFilesOf } from "./var-files.ts";

/** A value that must not stand on the command line, as an option names it. */
export interface NamedSecret {
  readonly name: string;
  /** Where it stands on the command line among all of them. */
  readonly place: number;
}

/** The options for values that configurations and variable sets share. */
export interface ValueOptions {
  readonly var?: string[] | undefined;
  readonly varFile?: string[] | undefined;
  readonly sensitive?: NamedSecret[] | undefined;
  readonly sensitiveJson?: NamedSecret[] | undefined;
  readonly unset?: string[] | undefined;
  readonly env?: string[] | undefined;
  readonly sensitiveEnv?: NamedSecret[] | undefined;
  readonly unsetEnv?: string[] | undefined;
  readonly backendConfig?: string[] | undefined;
  readonly sensitiveBackendConfig?: NamedSecret[] | undefined;
  readonly unsetBackendConfig?: string[] | undefined;
}

type Variables = Readonly<Record<string, Variable>>;
type Texts = Readonly<Record<string, TextValue>>;

/** The values of a configuration or of a variable set; undefined if the options name none. */
export interface Values {
  variables?: Record<string, Variable> | undefined;
  environment?: Record<string, TextValue> | undefined;
  backend_config?: Record<string, TextValue> | undefined;
}

/**
 * Returns the values that the options name, applied to those in `before`. Secrets are read last, so
 * that no value is asked for if another option is wrong.
 */
export async function valuesOf(options: ValueOptions, before: Values): Promise<Values> {
  const { env, unsetEnv, backendConfig, unsetBackendConfig } = options;
  const variables = variablesOf(options, before.variables);
  const environment = textsOf(
    { option: "--env", what: "environment variable", pairs: env, unset: unsetEnv },
    before.environment,
  );
  const backend_config = textsOf(
    {
      option: "--backend-config",
      what: "backend setting",
      pairs: backendConfig,
      unset: unsetBackendConfig,
    },
    before.backend_config,
  );
  const { sensitive, sensitiveJson, sensitiveEnv, sensitiveBackendConfig } = options;
  const values = await readSecrets([
    ...(sensitive ?? []),
    ...(sensitiveJson ?? []),
    ...(sensitiveEnv ?? []),
    ...(sensitiveBackendConfig ?? []),
  ]);
  const secretsOf = <T>(
    named: readonly NamedSecret[] = [],
    read: (text: string, name: string) => T,
  ): [string, { value: T; sensitive: true }][] =>
    named.map((secret) => [
      secret.name,
      { value: read(values.get(secret) ?? "", secret.name), sensitive: true },
    ]);
  return {
    variables: withSecrets<Variable>(variables, before.variables, [
      ...secretsOf(sensitive, asText),
      ...secretsOf(sensitiveJson, parseSecret),
    ]),
    environment: withSecrets<TextValue>(
      environment,
      before.environment,
      secretsOf(sensitiveEnv, asText),
    ),
    backend_config: withSecrets<TextValue>(
      backend_config,
      before.backend_config,
      secretsOf(sensitiveBackendConfig, asText),
    ),
  };
}

const asText = (text: string): string => text;

const withSecrets = <V>(
  given: Record<string, V> | undefined,
  earlier: Record<string, V> | undefined,
  secrets: readonly [string, V][],
) => (secrets.length === 0 ? given : { ...(given ?? earlier), ...Object.fromEntries(secrets) });

/** Applies the options to the variables `before`: files first, then single variables. */
function variablesOf(
  options: ValueOptions,
  before: Variables = {},
): Record<string, Variable> | undefined {
  const files = jsonFilesOf(options);
  if (options.var === undefined && options.unset === undefined && files.length === 0)
    return undefined;
  const variables = new Map(Object.entries(before));
  for (const name of options.unset ?? [])
    if (!variables.delete(name)) throw new CliError(`There is no variable "${name}" to unset.`);
  const set = (name: string, value: unknown): void => {
    const sensitive = variables.get(name)?.sensitive;
    variables.set(name, sensitive === undefined ? { value } : { value, sensitive });
  };
  for (const file of files)
    for (const [name, value] of Object.entries(readValues(file))) set(name, value);
  for (const text of options.var ?? []) {
    const at = text.indexOf("=");
    if (at < 1) throw new CliError(`--var must be name=value, not "${text}"`, 2);
    const name = text.slice(0, at);
    set(name, parseValue(name, text.slice(at + 1)));
  }
  return Object.fromEntries(variables);
}

/** Returns the values `before` without those of `unset`, and with the pairs. */
function textsOf(
  {
    option,
    what,
    pairs,
    unset,
  }: {
    readonly option: string;
    readonly what: string;
    readonly pairs: readonly string[] | undefined;
    readonly unset: readonly string[] | undefined;
  },
  before: Texts = {},
): Record<string, TextValue> | undefined {
  if (pairs === undefined && unset === undefined) return undefined;
  const kept = new Map(Object.entries(before));
  for (const name of unset ?? [])
    if (!kept.delete(name)) throw new CliError(`There is no ${what} "${name}" to unset.`);
  return { ...Object.fromEntries(kept), ...pairsOf(option, pairs ?? []) };
}

/** Parses JSON. Says if a number in it is sent as text, without the number: it may be a secret. */
function parseTelling(what: string, json: string): unknown {
  const texts: string[] = [];
  const value = parseExactly(json, (text) => texts.push(text));
  if (texts.length > 0)
    say(
      `${what} contains a number with more digits than JavaScript keeps. It is sent as text, which a variable of type number converts; in one of type any it stays text. To keep the number, put the value into terraform.tfvars.json.`,
    );
  return value;
}

/** Parses a list or a map as JSON. Everything else stays text, which terraform converts. */
function parseValue(name: string, text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return parseTelling(`The value of ${name}`, text);
  } catch (error) {
    throw new CliError(
      `The value of ${name} begins with ${text.trim()[0]}, so it must be valid JSON, such as {"a":"b"} or ["a"]: ${(error as Error).message}`,
      2,
    );
  }
}

/**
 * Parses a secret that `--sensitive-json` names. With `--sensitive`, JSON stays text: a provider
 * takes the key of a service account, which is an object of JSON, as text.
 */
function parseSecret(text: string, name: string): unknown {
  try {
    return parseTelling(`The value of ${name}`, text);
  } catch {
    // The message of the parser may quote the secret.
    throw new CliError(`The value of ${name} is not valid JSON`, 2);
  }
}

function readValues(file: string): Record<string, unknown> {
  const value = readJson(file, file.endsWith(".json") ? undefined : notNamed);
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new CliError(`"${file}" is not a JSON object of names and values, as in *.tfvars.json`, 2);
}

const notNamed =
  "it is not JSON, and the name of a file of variables must end in .tfvars, or in .tfvars.json if it is JSON";

/** Reads a JSON file. Throws `CliError` if it cannot be read; `notJson`: why, if it is not JSON. */
export function readJson(file: string, notJson?: string): unknown {
  try {
    return parseTelling(`"${file}"`, readFileSync(file, "utf8"));
  } catch (error) {
    if (error instanceof SyntaxError && notJson !== undefined)
      throw new CliError(`"${file}" cannot be read: ${notJson}`, 2);
    throw new CliError(`"${file}" cannot be read: ${fileErrorText(error)}`, 2);
  }
}

/**
 * Prompts for each value on a terminal; else reads one line of stdin each, in the order of the
 * command line.
 */
export async function readSecrets(
  secrets: readonly NamedSecret[],
): Promise<ReadonlyMap<NamedSecret, string>> {
  if (secrets.length === 0) return new Map();
  const [wrong] = secrets.flatMap(({ name }) => /^(.*?)=/s.exec(name)?.[1] ?? []);
  if (wrong !== undefined)
    throw new CliError(
      `Name a secret without its value: "${wrong}". The value is asked for on a terminal, and else read from stdin. Do not use the value on the command line: other users and the history of the shell see it.`,
      2,
    );
  const ordered = secrets.toSorted((one, other) => one.place - other.place);
  const names = ordered.map(({ name }) => name);
  const values = process.stdin.isTTY ? await askSecrets(names) : await readLines(names);
  return new Map(ordered.map((secret, at) => [secret, values[at] ?? ""]));
}

async function askSecrets(names: readonly string[]): Promise<string[]> {
  const values: string[] = [];
  for (const name of names) values.push(await askSecret(`Value of ${name}: `));
  return values;
}

async function readLines(names: readonly string[]): Promise<string[]> {
  const { text } = await import("node:stream/consumers");
  const all = (await text(process.stdin)).replace(/\r?\n$/, "");
  // A single secret may have several lines, such as a private key.
  const values = names.length === 1 ? [all] : all.split(/\r?\n/);
  if (values.length === names.length && !values.includes("")) return values;
  const pipe = `Pipe in the value of ${names.join(", then of ")}`;
  if (names.length === 1 || all === "")
    throw new CliError(
      `Missing secret on stdin. ${pipe}${names.length > 1 ? ", one per line" : ""}.`,
      2,
    );
  const lines = values.length === 1 ? "1 line" : `${values.length} lines`;
  const why =
    values.length === names.length
      ? "Stdin has an empty line"
      : `Stdin has ${lines} for ${names.length} secrets`;
  const alone =
    values.length > names.length
      ? " A secret of several lines must be the only one of its command."
      : "";
  throw new CliError(`${why}. ${pipe}, one per line.${alone}`, 2);
}

/** Converts `--backend` to the API field; `auto` clears it. */
export const backendOf = (word: string): "managed" | "own" | null =>
  word === "auto" ? null : (word as "managed" | "own");

/** Converts `NAME=value` options to an object. */
function pairsOf(option: string, texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf("=");
      if (at < 1) throw new CliError(`${option} must be NAME=value, not "${text}"`, 2);
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}
