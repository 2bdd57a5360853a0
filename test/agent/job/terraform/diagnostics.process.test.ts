import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { errorsIn, failureOf } from "../../../../agent/job/terraform/diagnostics.ts";
import { fixtureFiles } from "../../../helpers/fixtures.ts";
import { folderForFile } from "../../../helpers/folders.ts";

const folder = folderForFile();

test("errorsIn reads the framed and wrapped errors of real terraform", () => {
  writeFileSync(join(folder, "main.tf"), fixtureFiles("fail-plan")["main.tf"] ?? "");
  let stderr = "";
  try {
    execFileSync("terraform", ["plan", "-input=false"], {
      cwd: folder,
      encoding: "utf8",
      stdio: "pipe",
    });
  } catch (error) {
    ({ stderr } = error as { stderr: string });
  }
  expect(errorsIn(stderr)).toEqual([
    "Resource precondition failed: the cluster name must be longer than 99 characters",
  ]);
});

test.each([
  [
    '╷\n│ Error: No value for required variable\n│ \n│   on main.tf line 1:\n│    1: variable "x" {\n│ \n│ The root module input variable "x" is not set.\n╵\n',
    ['No value for required variable: The root module input variable "x" is not set.'],
  ],
  ["╷\n│ Error: one\n│ \n│ first\n╵\n╷\n│ Error: two\n╵\n", ["one: first", "two"]],
  ["╷\n│ Warning: odd\n╵\n╷\n│ Error: real\n╵\n", ["real"]],
  [
    "╷\n│ Error: no credentials\n│ \n│ Read the manual.\n│ \n│ Error: the agent has none\n│ \n╵\n╷\n│ Error: two\n╵\n",
    ["no credentials: Read the manual. Error: the agent has none", "two"],
  ],
  ["\nError: plain\n\nwithout a frame\n", ["plain: without a frame"]],
  ["sh: 1: terraform: not found\n", ["sh: 1: terraform: not found"]],
  ["", []],
])("errorsIn(%j) returns %j", (stderr, expected) => {
  expect(errorsIn(stderr)).toEqual(expected);
});

test("failureOf names the step, the exit code, the first error and the number of others", async () => {
  const stderr = join(folder, "stderr");
  writeFileSync(stderr, "Error: one\n\nError: two\n\nError: three\n");
  expect(await failureOf("apply", { code: 1, stderr })).toBe(
    "apply failed (exit code 1): one (and 2 more errors, see the log)",
  );
  writeFileSync(stderr, "");
  expect(await failureOf("init", { code: 137, stderr })).toBe("init failed (exit code 137)");
});
