/** Reads variables from options and files, and secret ones from stdin or a prompt without echo. */
import { readFileSync } from "node:fs";
import type { TextValue, Variable } from "../../protocol/configurations.ts";
import { parseExactly } from "../../common/exact-json.ts";
import { fileErrorText } from "../terminal/file-errors.ts";
import { askSecret } from "../terminal/ask.ts";
import { CliError } from "../terminal/output.ts";
import { jsonFilesOf } from "./var-files.ts";

export interface VariableOptions {
  /** `name=value`. */
  readonly var?: string[] | undefined;
  readonly varFile?: string[] | undefined;
  /** Names. */
  readonly sensitive?: string[] | undefined;
  /** Names. */
  readonly unset?: string[] | undefined;
}

export const namesVariables = (options: VariableOptions): boolean =>
  [options.var, options.sensitive, options.unset].some((one) => one !== undefined) ||
  jsonFilesOf(options).length > 0;

/** Applies the options to the variables `before`: files first, then single variables. */
export async function variablesOf(
  options: VariableOptions,
  before: Readonly<Record<string, Variable>> = {},
): Promise<Record<string, Variable>> {
  const variables = new Map(Object.entries(before));
  for (const name of options.unset ?? [])
    if (!variables.delete(name)) throw new CliError(`There is no variable "${name}" to unset.`);
  const set = (name: string, value: unknown): void => {
    const sensitive = variables.get(name)?.sensitive;
    variables.set(name, sensitive === undefined ? { value } : { value, sensitive });
  };
  for (const file of jsonFilesOf(options))
    for (const [name, value] of Object.entries(readValues(file))) set(name, value);
  for (const text of options.var ?? []) {
    const at = text.indexOf("=");
    if (at < 1) throw new CliError(`--var must be name=value, not "${text}"`, 2);
    set(text.slice(0, at), parseValue(text.slice(at + 1)));
  }
  const secrets = options.sensitive ?? [];
  const values = await secretsOf(secrets);
  for (const [at, name] of secrets.entries())
    variables.set(name, { value: values[at], sensitive: true });
  return Object.fromEntries(variables);
}

/**
 * Returns the values `before` without those of `unset` and with the pairs of `option` and the
 * secret values; undefined if no option is given.
 */
export async function textsOf(
  option: string,
  pairs: readonly string[] | undefined,
  secrets: readonly string[] | undefined,
  before: Readonly<Record<string, TextValue>> = {},
  unset?: readonly string[],
): Promise<Record<string, TextValue> | undefined> {
  if (pairs === undefined && secrets === undefined && unset === undefined) return undefined;
  const kept = new Map(Object.entries(before));
  for (const name of unset ?? [])
    if (!kept.delete(name))
      throw new CliError(`There is no environment variable "${name}" to unset.`);
  const values = await secretsOf(secrets ?? []);
  return {
    ...Object.fromEntries(kept),
    ...pairsOf(option, pairs ?? []),
    ...Object.fromEntries(
      (secrets ?? []).map((name, at) => [name, { value: values[at] ?? "", sensitive: true }]),
    ),
  };
}

/** Throws `CliError` if several options read stdin, which has one end. */
export function refuseSeveralReaders(
  options: Readonly<Record<string, readonly string[] | undefined>>,
): void {
  const given = Object.keys(options).filter((option) => options[option] !== undefined);
  if (given.length > 1 && !process.stdin.isTTY)
    throw new CliError(`${given.join(" and ")} all read stdin. Use one of them at a time.`, 2);
}

/** Parses a list or a map as JSON. Everything else stays text, which terraform converts. */
function parseValue(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return parseExactly(text);
  } catch (error) {
    throw new CliError(
      `A value that begins with ${text.trim()[0]} must be valid JSON: ${(error as Error).message}`,
      2,
    );
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
    return parseExactly(readFileSync(file, "utf8"));
  } catch (error) {
    if (error instanceof SyntaxError && notJson !== undefined)
      throw new CliError(`"${file}" cannot be read: ${notJson}`, 2);
    throw new CliError(`"${file}" cannot be read: ${fileErrorText(error)}`, 2);
  }
}

/** Prompts for each value on a terminal; else reads one line of stdin each, in option order. */
async function secretsOf(names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return [];
  if (process.stdin.isTTY) {
    const values: string[] = [];
    for (const name of names) values.push(await askSecret(`Value of ${name}: `));
    return values;
  }
  const { text } = await import("node:stream/consumers");
  const all = (await text(process.stdin)).replace(/\r?\n$/, "");
  // A single secret may have several lines, such as a private key.
  const values = names.length === 1 ? [all] : all.split(/\r?\n/);
  if (values.length !== names.length || values.includes(""))
    throw new CliError(
      `Missing secret on stdin. Pipe in the value of ${names.join(", then of ")}${names.length > 1 ? ", one per line" : ""}.`,
      2,
    );
  return values;
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
