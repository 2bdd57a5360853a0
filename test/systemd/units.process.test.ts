/** Checks the systemd units with systemd-analyze. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { unitOf } from "../../common/install/files.ts";
import { root } from "../helpers/project/source-files.ts";
import { lackOfProgram, skipAt } from "../helpers/project/tools.ts";
import { bin } from "../helpers/cli/windlass.ts";
import { folderForFile } from "../helpers/machine/folders.ts";

const place = folderForFile();

const folder = join(root, "systemd");
const units = readdirSync(folder).filter((name) => name.endsWith(".service"));

/** The highest exposure level, out of 10. The agent's unit explains its exceptions. */
const exposure: Record<string, number> = {
  "windlass-agent.service": 3.7,
  "windlass-server.service": 1.5,
};

describe.each(units)("%s", (name) => {
  skipAt(lackOfProgram("systemd-analyze"));
  const text = readFileSync(join(folder, name), "utf8");
  const path = join(place, name);
  // The command of this checkout, because systemd checks that the command exists.
  const version = Number(
    /^systemd (\d+)/.exec(
      spawnSync("systemctl", ["--version"], { encoding: "utf8" }).stdout ?? "",
    )?.[1],
  );
  writeFileSync(path, unitOf(text, bin, version));

  test("passes systemd-analyze verify without a warning", () => {
    const { status, stderr } = spawnSync(
      "systemd-analyze",
      ["verify", "--man=no", "--recursive-errors=no", path],
      { encoding: "utf8" },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });

  test("has an exposure level within its limit", () => {
    const args = ["security", "--offline=true", "--no-pager", path];
    const report = execFileSync("systemd-analyze", args, { encoding: "utf8" });
    const level = Number(/Overall exposure level for \S+: ([\d.]+)/.exec(report)?.[1]);
    expect(level).toBeLessThanOrEqual(exposure[name] ?? 0);
  });
});

test("before systemd 254, shells move the agent into its subgroup and take controllers off", () => {
  const group = join(place, "cgroup/system.slice/windlass-agent.service");
  mkdirSync(join(group, ".control"), { recursive: true });
  writeFileSync(join(group, "cgroup.subtree_control"), "memory pids");
  const unit = unitOf("ExecStart=/x agent\nDelegateSubgroup=agent\n", "/bin/echo", 253);
  /** Runs a command of the unit as systemd does, in this control group. */
  const run = (setting: string, own: string): string => {
    const [, quoted = ""] = new RegExp(`^${setting}=-?/bin/sh -c '(.*)'$`, "m").exec(unit) ?? [];
    writeFileSync(join(place, "own"), `0::/system.slice/windlass-agent.service${own}\n`);
    const script = quoted
      .replaceAll("$$", "$")
      .replaceAll("/sys/fs/cgroup", join(place, "cgroup"))
      .replaceAll("/proc/self/cgroup", join(place, "own"));
    return execFileSync("sh", ["-c", script], { encoding: "utf8" });
  };
  expect(run("ExecStart", "")).toBe("agent\n");
  expect(readFileSync(join(group, "agent/cgroup.procs"), "utf8")).toMatch(/^\d+\n$/);
  run("ExecStopPost", "/.control");
  expect(readFileSync(join(group, "cgroup.subtree_control"), "utf8")).toBe("-memory -pids\n");
});

test("the agent's unit leaves time to stop an apply, and lets terraform outlive the agent", () => {
  const unit = readFileSync(join(folder, "windlass-agent.service"), "utf8");
  const settings = unit.split("\n").filter((line) => !line.startsWith("#"));
  expect(settings).toContain("KillMode=process");
  expect(settings).toContain("User=windlass-agent");
  // An apply may take ten minutes to stop, and its report one more minute.
  const [, jobs] = /^Environment=WINDLASS_STOP_SECONDS=(\d+)$/m.exec(unit) ?? [];
  const [, minutes] = /^TimeoutStopSec=(\d+)min$/m.exec(unit) ?? [];
  expect(60 * Number(minutes) - Number(jobs)).toBeGreaterThan(660);
  for (const name of ["DynamicUser", "PrivateTmp", "RestrictNamespaces"])
    expect(settings.filter((line) => line.startsWith(`${name}=`))).toEqual([]);
});
