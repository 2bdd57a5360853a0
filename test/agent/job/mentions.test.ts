/** What the files of a configuration may declare, without running terraform. */
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mayDeclare } from "../../../agent/job/mentions.ts";
import { folderForFile } from "../../helpers/folders.ts";
import { writeFiles } from "../../helpers/fixtures.ts";

const root = folderForFile();

test.each<[files: Record<string, string>, may: boolean]>([
  [{ "main.tf": 'variable "token" {}\n' }, true],
  [{ "main.tf": "variable token {}\n" }, true],
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
  expect(mayDeclare(root, folder, "token")).toBe(may);
});

test("a name beyond ASCII, and a file that cannot be read, may be one", () => {
  const folder = writeFiles(join(root, "odd"), { "main.tf": "" });
  expect(mayDeclare(root, folder, "größe")).toBe(true);
  expect(mayDeclare(root, folder, "token")).toBe(false);
  symlinkSync("/etc/hostname", join(folder, "link.tf"));
  expect(mayDeclare(root, folder, "token")).toBe(true);
});
