import { expect, test } from "vitest";
import { noteWorkspace } from "../../../cli/up/workspace.ts";
import type { Run } from "../../../cli/run.ts";
import { scratch } from "../../helpers/agent/agent-process.ts";
import { writeFiles } from "../../helpers/agent/fixtures.ts";

function noted(files: Record<string, string>): string[] {
  using place = scratch();
  const lines: string[] = [];
  const run = { done: (line: string) => lines.push(line) } as unknown as Run;
  noteWorkspace(run, writeFiles(place.path, { "main.tf": "", ...files }));
  return lines;
}

const note = (why: string) => [
  `Warning: ${why}, but in every job the workspace is "default". Use a variable, and one configuration for each workspace.`,
];
const usage = 'locals {\n  name = "app-${terraform.workspace}"\n}';

test("files that use the workspace, and another chosen one, are named in one line", () => {
  expect(noted({ "main.tf": usage })).toEqual(note("main.tf uses terraform.workspace"));
  const staging = { ".terraform/environment": "staging\n" };
  expect(noted(staging)).toEqual(note('this directory has the workspace "staging"'));
  expect(noted({ ...staging, "main.tf": usage })).toEqual(
    note('this directory has the workspace "staging", and main.tf uses terraform.workspace'),
  );
});

test("nothing is said of comments, of other files and of the workspace default", () => {
  const files = { "main.tf": "# terraform.workspace", "notes.md": usage };
  expect(noted({ ...files, ".terraform/environment": "default" })).toEqual([]);
});
