/** Terraform variables from the command line, from files, and, where they are secret, from stdin or a question without echo. */
import { readFileSync } from "node:fs";
import type { TextValue, Variable } from "../../protocol/configurations.ts";
import { askSecret } from "../terminal/ask.ts";
import { Failure } from "../terminal/output.ts";

export interface VariableOptions {
  /** `name=value`. */
  readonly var?: string[] | undefined;
  readonly varFile?: string[] | undefined;
  /** Names. */
  readonly sensitive?: string[] | undefined;
  /** Names. */
  readonly unset?: string[] | undefined;
}

/** Whether any of them was given. */
export const namesVariables = (options: VariableOptions): boolean =>
  [options.var, options.varFile, options.sensitive, options.unset].some((one) => one !== undefined);

/** The variables `before` with what the options add, change and take away: files first, then single ones. */
export async function variablesOf(
  options: VariableOptions,
  before: Readonly<Record<string, Variable>> = {},
): Promise<Record<string, Variable>> {
  const variables = new Map(Object.entries(before));
  for (const name of options.unset ?? [])
    if (!variables.delete(name)) throw new Failure(`there is no variable "${name}" to unset`);
  const set = (name: string, value: unknown): void => {
    const sensitive = variables.get(name)?.sensitive;
    variables.set(name, sensitive === undefined ? { value } : { value, sensitive });
  };
  for (const file of options.varFile ?? [])
    for (const [name, value] of Object.entries(readValues(file))) set(name, value);
  for (const text of options.var ?? []) {
    const at = text.indexOf("=");
    if (at < 1) throw new Failure(`--var "${text}" is not name=value`, 2);
    set(text.slice(0, at), valueOf(text.slice(at + 1)));
  }
  const secrets = options.sensitive ?? [];
  const values = await secretsOf(secrets);
  for (const [at, name] of secrets.entries())
    variables.set(name, { value: values[at], sensitive: true });
  return Object.fromEntries(variables);
}

/** Texts `before` with those that `option` sets, and those that are asked for because they are secret. */
export async function textsOf(
  option: string,
  pairs: readonly string[] | undefined,
  secrets: readonly string[] | undefined,
  before: Readonly<Record<string, TextValue>> = {},
): Promise<Record<string, TextValue> | undefined> {
  if (pairs === undefined && secrets === undefined) return undefined;
  const values = await secretsOf(secrets ?? []);
  return {
    ...before,
    ...pairsOf(option, pairs ?? []),
    ...Object.fromEntries(
      (secrets ?? []).map((name, at) => [name, { value: values[at] ?? "", sensitive: true }]),
    ),
  };
}

/** As terraform reads `-var` and `TF_VAR_…`: a list or a map is JSON here; everything else is text, which terraform converts. */
function valueOf(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new Failure(
      `a value that begins with ${text.trim()[0]} is read as JSON: ${(error as Error).message}`,
      2,
    );
  }
}

function readValues(file: string): Record<string, unknown> {
  const value = readJson(file);
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new Failure(`${file} is not a JSON object of names and values, as in *.tfvars.json`, 2);
}

/** A file of JSON. Throws `Failure` with what is wrong with it. */
export function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as unknown;
  } catch (error) {
    const hint = file.endsWith(".tfvars") ? " (of .tfvars files, .tfvars.json is read)" : "";
    throw new Failure(`${file} cannot be read: ${(error as Error).message}${hint}`, 2);
  }
}

/** In a terminal each is asked for; in a pipe each is one line of stdin, in the order of the options. */
async function secretsOf(names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return [];
  if (process.stdin.isTTY) {
    const values: string[] = [];
    for (const name of names) values.push(await askSecret(`Value of ${name}: `));
    return values;
  }
  const { text } = await import("node:stream/consumers");
  const all = (await text(process.stdin)).replace(/\r?\n$/, "");
  // One secret may have several lines, such as a key.
  const values = names.length === 1 ? [all] : all.split(/\r?\n/);
  if (values.length !== names.length || values.includes(""))
    throw new Failure(
      `stdin must have the value of ${names.join(", then of ")}${names.length > 1 ? ", one on each line" : ""}`,
      2,
    );
  return values;
}

/** `--backend` as a field: `auto` takes a choice back. */
export const backendOf = (word: string): "managed" | "own" | null =>
  word === "auto" ? null : (word as "managed" | "own");

/** `NAME=value` options as an object. */
function pairsOf(option: string, texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf("=");
      if (at < 1) throw new Failure(`${option} "${text}" is not NAME=value`, 2);
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}
