import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { folderForFile } from "../helpers/machine/folders.ts";

const root = join(import.meta.dirname, "../..");
const directory = folderForFile();
const linked = (name: string, target: string): string => {
  const link = join(directory, name);
  mkdirSync(join(link, ".."), { recursive: true });
  symlinkSync(join(root, target), link);
  return link;
};

describe("bin/windlass starts", () => {
  it.each([
    ["from a link to it", () => [linked("a b/windlass", "bin/windlass"), directory]],
    ["from a link to its directory", () => [`${linked("bin", "bin")}/windlass`, directory]],
    ["from a link to the checkout", () => [`${linked("n\n", "")}/bin/windlass`, directory]],
    ["relative to a link", () => ["../bin/windlass", linked("deep/cli", "cli")]],
    ["from a directory of the PATH that is a link", () => ["windlass", linked("in", "bin")]],
  ] as const)("%s", (_, places) => {
    const [command, cwd] = places() as [string, string];
    const env = { ...process.env, PWD: cwd, PATH: `.:${process.env.PATH}` };
    const shell = ["-c", `cd "$1" && "$2" --version`, "sh", cwd, command];
    expect(execFileSync("/bin/sh", shell, { env, encoding: "utf8" })).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

it("bin/windlass asks for npm ci in a checkout in which it has not run", () => {
  const checkout = join(directory, "new");
  for (const file of ["bin/windlass", "main.ts"]) cpSync(join(root, file), join(checkout, file));
  const { status, stdout, stderr } = spawnSync(join(checkout, "bin/windlass"), ["--version"], {
    encoding: "utf8",
  });
  expect({ status, stdout }).toEqual({ status: 78, stdout: "" });
  expect(stderr).toBe(
    `windlass: run "npm ci" in ${checkout} first. It installs the packages and the Node.js 24 that Windlass runs on.\n`,
  );
});
