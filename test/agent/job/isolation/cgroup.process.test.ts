/** Control groups of jobs on a real cgroup v2, with real processes at every working level. */
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import {
  delegationOf,
  dividedGroupOf,
  groupOf,
  sweepGroups,
} from "../../../../agent/job/isolation/cgroup.ts";
import { openWorkDir } from "../../../../agent/job/isolation/by-user.ts";
import type { Level } from "../../../../agent/job/isolation/isolation.ts";
import { freeUser, openIsolation } from "../../../../agent/job/isolation/open.ts";
import { openRun } from "../../../../agent/job/terraform/process.ts";
import { skipAt } from "../../../helpers/project/tools.ts";
import { until } from "../../../helpers/agent/agent-process.ts";
import { cgroupMount, needsControllers, needsMount } from "./cgroup-mount.ts";
import {
  isolationSettings,
  levelsHere,
  skipAbsentLevels,
  wipe,
} from "../../../helpers/agent/isolation.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";
import { newWorkspace } from "../../../helpers/machine/workspaces.ts";

const place = folderForFile();
const mount = cgroupMount();
afterAll(() => {
  mount?.[Symbol.dispose]();
});
const workDir = join(place, "work");
const settings = isolationSettings(workDir);
const { working, lacking } = await levelsHere();
skipAbsentLevels(lacking);
openWorkDir(workDir);
const levels = working.filter((level) => level !== "container");
const none = { memoryBytes: 0, processes: 0, fileBytes: 0 };

let count = 0;
function job(level: Level, limits = none) {
  const id = randomUUID();
  const workspace = newWorkspace(workDir, id);
  const user = (level === "process" ? null : freeUser(settings)) ?? undefined;
  const groups = mount?.folder ?? "";
  const isolation = openIsolation(
    level,
    { id, workspace, state: undefined, user },
    { ...settings, level, limits, groups },
  );
  const { source, home, temporary, artifact } = workspace;
  isolation.give(source, home, temporary, artifact);
  const group = join(groups, `job-${id}`);
  return {
    isolation,
    group,
    source,
    run(script: string) {
      const directory = join(place, `run-${++count}`);
      const env = { PATH: settings.path, HOME: home };
      const args = ["-c", script];
      const command = isolation.wrap({ directory, command: "/bin/sh", args, cwd: source, env });
      const run = openRun(command, undefined, () => isolation.killAll());
      return { ...run, output: () => readFileSync(join(directory, "stdout"), "utf8") };
    },
    processes: () => readFileSync(join(group, "cgroup.procs"), "utf8").trim(),
  };
}

describe.each(mount ? levels : [])("the group of a job at level %s", (level) => {
  test("contains the command, is emptied at its end and removed with the job", async () => {
    const { run, isolation, group, processes, source } = job(level);
    // Without the environment variable that marks it, and in a session of its own.
    const ran = run(
      "env -i setsid sleep 1000 > /dev/null & while [ ! -e go ]; do sleep 0.02; done; echo over",
    );
    await until(() => processes() !== "");
    writeFileSync(join(source, "go"), "");
    expect(await ran.ended).toEqual({ kind: "exited", code: 0 });
    expect(ran.output()).toBe("over\n");
    expect(processes()).toBe("");
    expect(existsSync(group)).toBe(true);
    await wipe(isolation);
    expect(existsSync(group)).toBe(false);
  });
});

describe("groups", () => {
  skipAt(mount === undefined ? "mounting a cgroup2 file system is not permitted" : undefined);
  const folder = mount?.folder ?? "";

  test("of orphaned jobs are killed and removed, those of held jobs stay", async () => {
    const [left, held] = [job("process"), job("process")];
    const ran = left.run("sleep 1000");
    await held.run("true").ended;
    await until(() => left.processes() !== "");
    // A job at this level can create a group in its own.
    mkdirSync(join(left.group, "inner"));
    await sweepGroups(folder, [held.group.replace(/.*job-/, "")]);
    expect(await ran.ended).toMatchObject({ code: 137 });
    expect(existsSync(left.group)).toBe(false);
    expect(existsSync(held.group)).toBe(true);
    await wipe(left.isolation);
    await wipe(held.isolation);
  });

  test("of this process are found", () => {
    expect(groupOf("self")).toBeDefined();
    expect(dividedGroupOf(process.pid)).toBeUndefined();
  });
});

test("a running job gets the limits again that its group has lost, and keeps those that it has", () => {
  const workspace = newWorkspace(workDir, "limited");
  const group = join(place, "job-limited");
  mkdirSync(group);
  writeFileSync(join(group, "memory.max"), "max\n");
  writeFileSync(join(group, "pids.max"), "50\n");
  const limits = { memoryBytes: 4096, processes: 7, fileBytes: 0 };
  const at = { id: "limited", workspace, state: undefined, user: undefined };
  openIsolation("process", at, { ...settings, level: "process", limits, groups: place });
  expect(readFileSync(join(group, "memory.max"), "utf8")).toBe("4096");
  expect(readFileSync(join(group, "pids.max"), "utf8")).toBe("50\n");
});

describe("a group is not delegated", () => {
  test.each([
    ["without cgroup v2", undefined, false, /no cgroup v2/],
    ["in a unit without a subgroup", "/group", true, /does not start the agent in a subgroup/],
    ["without the controllers", place, false, /has no controller memory and pids/],
  ])("%s", (_, group, isUnit, lack) => {
    expect(delegationOf(group, isUnit).lack).toMatch(lack);
  });

  test("until its files are writable; the agent's own subgroup leads to it", () => {
    writeFileSync(join(place, "cgroup.controllers"), "cpu memory pids\n");
    expect(delegationOf(place, false).lack).toMatch(/is not delegated to this user/);
    for (const name of ["cgroup.procs", "cgroup.subtree_control"])
      writeFileSync(join(place, name), "");
    expect(delegationOf(join(place, "agent"), true)).toEqual({ folder: place });
    expect(delegationOf(place, false)).toEqual({ folder: place });
  });
});

describe("the limits of a job's group", () => {
  const limits = { memoryBytes: 64 * 1024 ** 2, processes: 20, fileBytes: 0 };
  const lack = mount?.canLimit ? undefined : mount ? needsControllers : needsMount;

  test("kill a job that needs too much memory, and report the cause", async (context) => {
    if (lack !== undefined) return context.skip(lack);
    const { run, isolation } = job("process", limits);
    const ran = run("for i in 1 2; do head -c 60000000 /dev/zero | tail & done; wait; echo over");
    expect(await ran.ended).toMatchObject({ code: 137 });
    expect(isolation.isOutOfMemory()).toBe(true);
    await wipe(isolation);
  });

  test("bound its processes, even without a user of its own", async (context) => {
    if (lack !== undefined) return context.skip(lack);
    const { run, isolation } = job("process", limits);
    const ran = run("i=0; while [ $i -lt 60 ]; do sleep 300 & i=$((i + 1)); done; echo all");
    await ran.ended;
    expect(ran.output()).toBe("");
    await wipe(isolation);
  });
});
