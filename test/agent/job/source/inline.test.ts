import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isSafePath, writeInline } from "../../../../agent/job/source/inline.ts";
import { folderForEachTest } from "../../../helpers/machine/folders.ts";

let folder: string;
folderForEachTest((path) => {
  folder = path;
});

test("writeInline writes the files, with scripts executable", async () => {
  writeInline({ "main.tf": "# ü", "scripts/run.sh": "#!/bin/sh\n" }, folder);
  expect(readFileSync(join(folder, "main.tf"), "utf8")).toBe("# ü");
  expect(statSync(join(folder, "main.tf")).mode & 0o777).toBe(0o600);
  expect(statSync(join(folder, "scripts/run.sh")).mode & 0o777).toBe(0o700);
});

async function digest(files: Record<string, string>): Promise<string> {
  rmSync(folder, { recursive: true });
  return writeInline(files, folder).digest;
}

test("the digest depends on names and contents, but not on their order", async () => {
  const one = await digest({ a: "1", b: "2" });
  expect(await digest({ b: "2", a: "1" })).toBe(one);
  const others = [{ a: "2", b: "1" }, { a: "12" }, { a1: "", b: "2" }, { a: "1", b: "2", c: "" }];
  for (const files of others) expect(await digest(files)).not.toBe(one);
});

test.each([
  "",
  "/etc/x",
  "../x",
  "a/../../x",
  "a/..",
  ".",
  "./a",
  "a//b",
  "a/",
  "a\0b",
  "..\\x",
  "\\x",
])("%j is refused as a path, and nothing is written", async (path) => {
  expect(isSafePath(path)).toBe(false);
  expect(() => writeInline({ [path]: "x" }, folder)).toThrow(/is not a valid file name/);
  expect(readdirSync(folder)).toEqual([]);
});

test.each([
  "main.tf",
  "a/b/c.tf",
  "..a",
  "a..b/c",
  ".hidden",
  "ünïcode 🚀.tf",
  "-rf",
  "~",
  "$HOME",
])("%j is accepted as a path", (path) => expect(isSafePath(path)).toBe(true));
