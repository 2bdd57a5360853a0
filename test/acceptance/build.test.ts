/** A build works outside the checkout. */
import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { version } from "../../common/version.ts";
import { startedBy } from "../helpers/machine/units.ts";
import { root } from "../helpers/project/source-files.ts";
import { folderForFile } from "../helpers/machine/folders.ts";

const place = folderForFile();
beforeAll(() => {
  execFileSync(process.execPath, ["scripts/build.ts", "--out", join(place, "dist")], { cwd: root });
  for (const name of ["bin", "package.json"])
    cpSync(join(root, name), join(place, name), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(place, "node_modules"));
});

const windlass = (...args: string[]): string =>
  execFileSync(join(place, "bin/windlass"), args, { encoding: "utf8", cwd: place });

test("a build has every role", () => {
  expect(windlass("--version")).toBe(`${version()}\n`);
  expect(windlass("server", "--help")).toContain("Usage: windlass server");
  expect(windlass("agent", "--help")).toContain("Usage: windlass agent");
});

test("a build has the help of all commands and the OpenAPI document", () => {
  const read = (name: string) => readFileSync(join(place, "dist/docs", name), "utf8");
  expect(read("commands.md")).toContain("\n### windlass jobs\n");
  expect(JSON.parse(read("openapi.json"))).toHaveProperty("openapi");
});

test("a build runs the demo with its server, agent, pages and samples", () => {
  expect(windlass("demo")).toMatch(/cluster_endpoint/);
});

test("a build installs the agent with its own command", () => {
  const target = join(place, "image");
  windlass("agent", "install", "--url", "https://windlass.example.com", "--root", target);
  const unit = join(target, "etc/systemd/system/windlass-agent.service");
  expect(startedBy(unit)).toBe(`${join(place, "bin/windlass")} agent`);
});

test("a directory that is not a build is not overwritten", () => {
  expect(() =>
    execFileSync(process.execPath, ["scripts/build.ts", "--out", join(place, "bin")], {
      cwd: root,
      stdio: "pipe",
    }),
  ).toThrow("not an earlier build");
});
