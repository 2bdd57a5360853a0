import { execFileSync } from "node:child_process";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ConfigError } from "../../../common/settings/config-error.ts";
import { readSettingFile } from "../../../common/settings/file.ts";
import { folderForFile } from "../../helpers/machine/folders.ts";

const folder = folderForFile();

test("the file of a setting is read whole", () => {
  const path = join(folder, "key");
  const text = "€".repeat(60_000);
  writeFileSync(path, text);
  expect(readSettingFile("KEY_FILE", path)).toBe(text);
  writeFileSync(path, "");
  expect(readSettingFile("KEY_FILE", path)).toBe("");
});

test("a pipe to which no process writes is refused after a time limit", () => {
  const pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  const message = `KEY_FILE cannot be read: nothing is written to this pipe`;
  expect(() => readSettingFile("KEY_FILE", pipe, 50)).toThrow(new ConfigError(message));
  // With a writer that writes nothing.
  const writer = openSync(pipe, "r+");
  try {
    expect(() => readSettingFile("KEY_FILE", pipe, 50)).toThrow(new ConfigError(message));
  } finally {
    closeSync(writer);
  }
});

test.each([
  ["/dev/zero", "it has more than 1048576 bytes"],
  [folder, "EISDIR"],
  [join(folder, "none"), "ENOENT"],
])("%s is refused with the name of the setting", (path, why) => {
  const read = () => readSettingFile("KEY_FILE", path, 50);
  expect(read).toThrow(ConfigError);
  expect(read).toThrow(`KEY_FILE cannot be read: ${why}`);
});
