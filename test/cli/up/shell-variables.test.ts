import { expect, test } from "vitest";
import { noteShellVariables } from "../../../cli/up/shell-variables.ts";
import type { ValueOptions } from "../../../cli/configurations/variables.ts";
import type { Run } from "../../../cli/run.ts";
import { scratch } from "../../helpers/agent/agent-process.ts";
import { writeFiles } from "../../helpers/agent/fixtures.ts";

const files = {
  "main.tf": 'variable "num" {}\nvariable "size" {}\n# variable other\nvariable   pin   {\n}',
  "more.tf.json": '{"variable": {"of_json": {}}}',
  "modules/a/main.tf": 'variable "of_module" {}',
};

function noted(environment: Record<string, string>, options: ValueOptions = {}): string[] {
  using place = scratch();
  const lines: string[] = [];
  const run = { done: (line: string) => lines.push(line) } as unknown as Run;
  noteShellVariables(run, writeFiles(place.path, files), options, Object.keys(environment));
  return lines;
}

const note = (what: string) => [
  `Of this shell, ${what} not used. Set values with --var, --sensitive or --env.`,
];

test("declared variables of the shell are named in one line, and their values are not", () => {
  expect(noted({ TF_VAR_num: "hunter2", TF_VAR_other: "x", TF_VAR_of_module: "x" })).toEqual(
    note("TF_VAR_num is"),
  );
  const all = ["num", "size", "pin", "of_json"].map((name) => [`TF_VAR_${name}`, "1"] as const);
  expect(noted(Object.fromEntries(all))).toEqual(
    note("TF_VAR_num, TF_VAR_size, TF_VAR_pin, TF_VAR_of_json are"),
  );
});

test.each<ValueOptions>([
  { var: ["num=5"] },
  { env: ["TF_VAR_num=5"] },
  { sensitive: [{ name: "num", place: 0 }] },
  { sensitiveJson: [{ name: "num", place: 0 }] },
  { sensitiveEnv: [{ name: "TF_VAR_num", place: 0 }] },
])("a variable that %j sets is not named", (options) => {
  expect(noted({ TF_VAR_num: "1", TF_VAR_size: "1" }, options)).toEqual(note("TF_VAR_size is"));
});

test("nothing is said without such variables", () => {
  expect(noted({ TF_VAR: "1", PATH: "/bin", "TF_VAR_a b": "1" })).toEqual([]);
});
