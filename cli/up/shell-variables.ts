/** Variables of the shell that terraform would use, and that the client does not send. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { terraformFilesIn } from "../../common/terraform-files.ts";
import { terraformVariables } from "../config.ts";
import type { ValueOptions } from "../configurations/variables.ts";
import type { Run } from "../run.ts";

const form = /^TF_VAR_([A-Za-z_][\w-]*)$/;
const shownAtMost = 4;

/** Says which `TF_VAR_name` of the shell the files in the directory declare and no option sets. */
export function noteShellVariables(
  run: Run,
  directory: string,
  options: ValueOptions,
  set = terraformVariables(),
): void {
  const names = set.filter((name) => form.test(name));
  if (names.length === 0) return;
  const texts = terraformFilesIn(directory).map((name) =>
    readFileSync(join(directory, name), "utf8"),
  );
  const given = namesIn(options);
  const unused = names.filter((name) => {
    const variable = form.exec(name)?.[1] ?? "";
    const isDeclared = texts.some((text) => declares(text, variable));
    return isDeclared && !given.has(name) && !given.has(variable);
  });
  if (unused.length === 0) return;
  const more = unused.length - shownAtMost;
  const listed = unused.slice(0, shownAtMost).join(", ") + (more > 0 ? ` and ${more} more` : "");
  run.done(
    `Of this shell, ${listed} ${unused.length === 1 ? "is" : "are"} not used. Set values with --var, --sensitive or --env.`,
  );
}

/** In HCL, and roughly in JSON. */
const declares = (text: string, name: string): boolean =>
  new RegExp(String.raw`\bvariable\s+"?${name}"?\s*\{|"${name}"\s*:`).test(text);

/** The variables, with and without `TF_VAR_`, that the options set. */
const namesIn = ({ var: pairs, sensitive, sensitiveJson, env, sensitiveEnv }: ValueOptions) =>
  new Set([
    ...[...(pairs ?? []), ...(env ?? [])].map((pair) => pair.split("=", 1)[0]),
    ...[sensitive, sensitiveJson, sensitiveEnv].flatMap((all) => all ?? []).map(({ name }) => name),
  ]);
