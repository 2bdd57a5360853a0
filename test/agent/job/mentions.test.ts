/** What the files of a configuration may declare, without running terraform. */
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { undeclared } from "../../../agent/job/mentions.ts";
import { folderForFile } from "../../helpers/machine/folders.ts";
import { writeFiles } from "../../helpers/agent/fixtures.ts";

const root = folderForFile();

test.each<[files: Record<string, string>, may: boolean]>([
  [{ "main.tf": 'variable "token" {}\n' }, true],
  [{ "main.tf": "variable token {}\n" }, true],
  [{ "main.tf": 'variable"token"{}' }, true],
  [{ "main.tf": 'variable /* secret */ "token" {}' }, true],
  [{ "main.tf": 'locals { tags = { token = "token of a variable" } }\n' }, false],
  [{ "main.tofu": 'variable "token" {}\n' }, true],
  [{ "variables.tf.json": '{"variable":{"token":{}}}' }, true],
  [{ "main.tf": 'variable "to\\u006ben" {}\n' }, true],
  [{ "variables.tf.json": '{"variable":{"to\\u006ben":{}}}' }, true],
  [{ "main.tf": 'variable "my_token" {}\nvariable "token-2" {}\n' }, false],
  [{ "main.tf": "", "sub/main.tf": 'variable "token" {}\n', "notes.txt": "token" }, false],
  [{}, false],
])("files %j may declare the variable: %s", (files, may) => {
  const folder = writeFiles(join(root, JSON.stringify(files).replaceAll(/\W/g, "")), {
    "readme.md": "",
    ...files,
  });
  expect(undeclared(root, folder, ["token"]).has("token")).toBe(!may);
});

test("a name beyond ASCII, and a file that cannot be read, may be one", () => {
  const folder = writeFiles(join(root, "odd"), { "main.tf": "" });
  expect([...undeclared(root, folder, ["größe", "token"])]).toEqual(["token"]);
  symlinkSync("/etc/hostname", join(folder, "link.tf"));
  expect([...undeclared(root, folder, ["token"])]).toEqual([]);
});

test("many names and large files take no longer than reading the files once", () => {
  const text = `${'variable "a_long_name" {} '.repeat(40)}\n`.repeat(4000);
  const folder = writeFiles(join(root, "large"), { "main.tf": text });
  const names = Array.from({ length: 50_000 }, (_, at) => `name_${at}`);
  expect(text.length).toBeGreaterThan(3_500_000);
  // With a search for each name, this would take hours.
  expect(undeclared(root, folder, [...names, "a_long_name"]).size).toBe(names.length);
});
