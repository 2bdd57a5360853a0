import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { errorsIn, failureOf, ofWithheld } from "../../../../agent/job/terraform/diagnostics.ts";
import { variablesFile } from "../../../../common/terraform-diagnostics.ts";
import { fixtureFiles } from "../../../helpers/agent/fixtures.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";

const folder = folderForFile();

/** What terraform prints about this configuration, on stderr. */
function stderrOf(main: string, ...args: string[]): string {
  writeFileSync(join(folder, "main.tf"), main);
  try {
    execFileSync("terraform", args, { cwd: folder, encoding: "utf8", stdio: "pipe" });
  } catch (error) {
    return (error as { stderr: string }).stderr;
  }
  throw new Error("terraform did not fail");
}

describe("errorsIn reads of real terraform", () => {
  test("a framed and wrapped error", () => {
    const stderr = stderrOf(fixtureFiles("fail-plan")["main.tf"] ?? "", "plan", "-input=false");
    expect(errorsIn(stderr)).toEqual([
      "main.tf:11: Resource precondition failed: the cluster name must be longer than 99 characters",
    ]);
  });

  test("a syntax error with its file and line, without the error that announces it", () => {
    const stderr = stderrOf('variable "a" {\n  default = \n}\n', "init", "-backend=false");
    expect(stderr).toContain("encountered problems during initiali");
    expect(errorsIn(stderr)).toEqual([
      "main.tf:2: Invalid expression: Expected the start of an expression, but found an invalid expression token.",
    ]);
  });

  test("a value that does not fit its variable, without the file of the agent", () => {
    const values = join(folder, variablesFile);
    writeFileSync(values, '{"size": "abc"}');
    const main = 'variable "size" {\n  type = number\n}\n';
    const [error = "", ...others] = errorsIn(stderrOf(main, "plan", `-var-file=${values}`));
    expect(error).toMatch(/^Invalid value for input variable: .*var\.size.*a number is required/);
    expect(error).not.toContain(folder);
    expect(others).toEqual([]);
  });

  test("the cause why a module was not fetched", () => {
    const main = 'module "net" { source = "git@127.0.0.1:team/repo.git" }';
    const [error, ...others] = errorsIn(stderrOf(main, "get"));
    expect(error).toMatch(
      /^main\.tf:1: Failed to download module: .*git exited with 128: .*fatal: /,
    );
    expect(others).toEqual([]);
  });
});

test.each([
  [
    '╷\n│ Error: No value for required variable\n│ \n│   on main.tf line 1:\n│    1: variable "x" {\n│ \n│ The root module input variable "x" is not set.\n╵\n',
    ['main.tf:1: No value for required variable: The root module input variable "x" is not set.'],
  ],
  [
    "╷\n│ Error: OpenTofu encountered problems during initialization, including problems\n│ with the configuration, described below.\n│ \n│ The OpenTofu configuration must be valid.\n╵\n╷\n│ Error: Bad\n│ \n│   on net/a.tf line 3, in locals:\n│    3: x\n│ \n│ Why.\n╵\n╷\n│ Error: Bad\n│ \n│   on net/a.tf line 3, in locals:\n│    3: x\n│ \n│ Why.\n╵\n",
    ["net/a.tf:3: Bad: Why."],
  ],
  [
    "╷\n│ Error: exit status 3\n│ \n│   with module.a.x.y[0],\n│   on main.tf line 6, in resource:\n│    6: x\n│ \n│ Why.\n╵\n",
    ["main.tf:6: module.a.x.y[0]: exit status 3: Why."],
  ],
  ["╷\n│ Error: one\n│ \n│ first\n╵\n╷\n│ Error: two\n╵\n", ["one: first", "two"]],
  ["╷\n│ Warning: odd\n╵\n╷\n│ Error: real\n╵\n", ["real"]],
  [
    "╷\n│ Error: no credentials\n│ \n│ Read the manual.\n│ \n│ Error: the agent has none\n│ \n╵\n╷\n│ Error: two\n╵\n",
    ["no credentials: Read the manual. Error: the agent has none", "two"],
  ],
  [
    "╷\n│ Error: execution halted\n│ \n╵\n╷\n│ Error: local-exec provisioner error\n│ \n│ signal: killed\n╵\n",
    ["local-exec provisioner error: signal: killed", "execution halted"],
  ],
  ["\nError: plain\n\nwithout a frame\n", ["plain: without a frame"]],
  ["\nError: it says:\n\nwhy\n", ["it says: why"]],
  ["sh: 1: terraform: not found\n", ["sh: 1: terraform: not found"]],
  ["", []],
])("errorsIn(%j) returns %j", (stderr, expected) => {
  expect(errorsIn(stderr)).toEqual(expected);
});

test("failureOf names the step, the exit code, the first error and the number of others", async () => {
  const stderr = join(folder, "stderr");
  writeFileSync(stderr, "Error: one\n\nError: two\n\nError: three\n");
  const summary = "apply failed (exit code 1)";
  const failed = await failureOf("apply", { code: 1, stderr }, " (note)");
  expect(failed.message).toBe(`${summary}: one (and 2 more errors, see the log) (note)`);
  expect(failed.failure).toEqual({ kind: "command", summary });
  writeFileSync(stderr, "");
  expect((await failureOf("init", { code: 137, stderr })).message).toBe(
    "init failed (exit code 137)",
  );
});

test("failureOf names all variables that have no value", async () => {
  const stderr = join(folder, "stderr");
  const names = ["a", "b-c"];
  const main = names.map((name) => `variable "${name}" {}\n`).join("");
  writeFileSync(stderr, stderrOf(main, "plan", "-input=false"));
  const { message, failure } = await failureOf("plan", { code: 1, stderr });
  expect(failure).toMatchObject({ kind: "missing_variables", variables: names });
  expect(message).toMatch(/"a" is not set.*"b-c" is not set/);
  expect(message).not.toContain("more error");
  const missing = (name: string) =>
    `Error: No value for required variable\n\nThe root module input variable "${name}" is not set.\n`;
  const many = Array.from({ length: 120 }, (_, at) => missing(`v${at}`));
  writeFileSync(stderr, [...many, "Error: other\n"].join("\n"));
  const cut = await failureOf("plan", { code: 1, stderr });
  expect(cut.failure?.variables).toHaveLength(100);
  expect(cut.message.length).toBeLessThan(2200);
  expect(cut.message).toMatch(/\(and \d+ more errors, see the log\)$/);
  expect(ofWithheld(cut, ["other"])).toBe(cut);
  const { message: said, failure: withheld } = ofWithheld(cut, ["v1", "TF_VAR_v2", "other"]);
  expect(withheld).toMatchObject({ kind: "values_withheld", variables: ["v1", "v2"] });
  expect(said).toMatch(/^plan failed: the values of v1, v2 are withheld .*follow\.values/);
});

test("failureOf names the variables whose values have a wrong type", async () => {
  const stderr = join(folder, "stderr");
  const main = 'variable "size" {\n  type = number\n  default = 1\n}\n';
  const values = join(folder, variablesFile);
  writeFileSync(values, '{"size": "abc"}');
  writeFileSync(stderr, stderrOf(main, "plan", `-var-file=${values}`));
  expect((await failureOf("plan", { code: 1, stderr })).failure).toMatchObject({
    kind: "unsuitable_variables",
    variables: ["size"],
  });
});

test("failureOf tells a plan that another change has overtaken", async () => {
  const stderr = join(folder, "stderr");
  const main = 'resource "terraform_data" "a" {}\n';
  writeFileSync(join(folder, "main.tf"), main);
  const run = (...args: string[]) =>
    execFileSync("terraform", args, { cwd: folder, stdio: "pipe" });
  run("init");
  run("plan", "-out=old.tfplan");
  run("apply", "-auto-approve");
  writeFileSync(stderr, stderrOf(main, "apply", "old.tfplan"));
  const { failure } = await failureOf("apply", { code: 1, stderr });
  expect(failure).toEqual({ kind: "plan_overtaken", summary: "apply failed (exit code 1)" });
});
