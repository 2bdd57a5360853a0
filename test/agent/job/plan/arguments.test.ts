import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import type { JobContext } from "../../../../agent/job/context.ts";
import {
  checkVarFiles,
  parallelismOf,
  planOptionsOf,
} from "../../../../agent/job/plan/arguments.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";

const source = folderForFile();
beforeAll(() => {
  mkdirSync(join(source, "envs"));
  writeFileSync(join(source, "envs", "a.tfvars"), "");
  symlinkSync("/etc/passwd", join(source, "link.tfvars"));
  symlinkSync("envs", join(source, "folder"));
});

const job = (snapshot: object) =>
  ({
    claim: { job: { config_snapshot: snapshot } },
    workspace: { source },
  }) as unknown as JobContext;

test("checkVarFiles accepts regular files of the source only, without links on the path", () => {
  checkVarFiles(job({ var_files: ["envs/a.tfvars"] }));
  for (const name of [
    "../a",
    "/etc/passwd",
    "envs/../envs/a.tfvars",
    "link.tfvars",
    "folder/a.tfvars",
    "envs",
    "no",
  ])
    expect(() => checkVarFiles(job({ var_files: [name] }))).toThrow(name);
});

test("parallelismOf returns no argument for a value outside its bounds", () => {
  expect(parallelismOf(job({ parallelism: 256 }))).toEqual(["-parallelism=256"]);
  for (const parallelism of [0, 257, 1.5, "1; x", null])
    expect(parallelismOf(job({ parallelism }))).toEqual([]);
});

test("planOptionsOf returns the arguments of terraform and OpenTofu, none for an ordinary plan", () => {
  const of = (plan_options?: object) =>
    planOptionsOf({ claim: { job: { plan_options } } } as unknown as JobContext);
  expect(of()).toEqual([]);
  expect(of({ destroy: true, refresh_only: false, targets: [], replace: [] })).toEqual([
    "-destroy",
  ]);
  expect(of({ refresh_only: true, targets: ["module.a", 'b.c["d e"]'] })).toEqual([
    "-refresh-only",
    "-target=module.a",
    '-target=b.c["d e"]',
  ]);
  expect(of({ replace: ["a.b[0]"], exclude: ["module.a"] })).toEqual([
    "-replace=a.b[0]",
    "-exclude=module.a",
  ]);
});
