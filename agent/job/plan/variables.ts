/** The values of variables that people have set, in a file for each command that needs them. */
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { compareVersions, parseVersion } from "../../../common/version-constraint.ts";
import { known, type JobContext } from "../context.ts";
import { undeclared } from "../mentions.ts";
import { varFilesOf } from "./arguments.ts";

type Variables = Readonly<Record<string, unknown>>;

/** Returns the values that are set; undefined: none is. */
export function variablesOf({ claim }: Pick<JobContext, "claim">): Variables | undefined {
  const variables = Object.entries(claim.job.config_snapshot.variables ?? {});
  const given = variables.filter(([, { value }]) => value !== undefined);
  return given.length === 0
    ? undefined
    : Object.fromEntries(given.map(([name, { value }]) => [name, value]));
}

/** Writes the file, without the values of these names that the files cannot declare. */
export function writeVariables(context: JobContext, names: readonly string[]): void {
  const { workspace, isolation } = context;
  const unused = undeclared(workspace.root, known(context, "folder"), names);
  const values = Object.entries(variablesOf(context) ?? {}).filter(([name]) => !unused.has(name));
  writeFileSync(workspace.variables, JSON.stringify(Object.fromEntries(values)), { mode: 0o600 });
  isolation.give(workspace.variables);
}

/** The names of the variables that only sets have set. */
export const ofSets = ({ claim }: JobContext): readonly string[] =>
  claim.job.config_snapshot.set_variables ?? [];

/** Removes the file after the last command that needs it. */
export function removeVariables(context: JobContext): void {
  if (!evaluatesEarly(context)) rmSync(context.workspace.variables, { force: true });
}

/**
 * Since then, every command of OpenTofu needs the variables, for module sources, backend,
 * encryption.
 */
const earlySince = parseVersion("1.8.0");
const earlyCommands = new Set(["get", "init", "output", "show", "state"]);

/** Whether the engine needs variables before it plans. */
export function evaluatesEarly(context: JobContext): boolean {
  const { engine, version } = known(context, "engine");
  const used = parseVersion(version);
  if (engine !== "opentofu" || !used || !earlySince) return false;
  return compareVersions(used, earlySince) >= 0;
}

/** Returns the arguments with those for variables, which `plan` and `apply` have of their own. */
export function withVariables(context: JobContext, args: readonly string[]): readonly string[] {
  const [command = ""] = args;
  if (!earlyCommands.has(command) || !evaluatesEarly(context)) return args;
  const { variables } = context.workspace;
  // A former agent of an earlier release has removed it.
  const own = existsSync(variables) ? [`-var-file=${variables}`] : [];
  const words = command === "state" ? 2 : 1;
  return [...args.slice(0, words), ...varFilesOf(context), ...own, ...args.slice(words)];
}

/** Returns the variables for which `TF_VAR_…` of the environment has another value. */
export function differing({ claim }: Pick<JobContext, "claim">): string[] {
  const environment = claim.job.config_snapshot.environment ?? {};
  return Object.entries(variablesOf({ claim }) ?? {}).flatMap(([name, value]) => {
    const text = environment[`TF_VAR_${name}`];
    return typeof text !== "string" || isSame(text, value) ? [] : name;
  });
}

function isSame(text: string, value: unknown): boolean {
  if (typeof value === "string") return text === value;
  try {
    return isDeepStrictEqual(JSON.parse(text), value);
  } catch {
    return false;
  }
}
