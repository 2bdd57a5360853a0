/** A cgroup v2 group in which the groups of jobs can be tested. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface CgroupMount extends Disposable {
  /** An empty group, without limits. */
  readonly folder: string;
  /** Whether groups in it can limit memory and processes. */
  readonly canLimit: boolean;
}

/** Skip a test with this reason where `cgroupMount` returns undefined. */
export const needsMount = "cgroup v2 cannot be mounted here (it needs root)";
/** Skip a test with this reason where `canLimit` is false. */
export const needsControllers =
  "needs a machine whose cgroup v2 has the memory and pids controllers";

/** Mounts cgroup v2 and creates a group; undefined if that is not permitted. */
export function cgroupMount(): CgroupMount | undefined {
  const mount = mkdtempSync(join(tmpdir(), "cgroup-"));
  try {
    execFileSync("mount", ["-t", "cgroup2", "none", mount], { stdio: "ignore" });
  } catch {
    rmdirSync(mount);
    return undefined;
  }
  const folder = join(mount, `windlass-test-${process.pid}`);
  mkdirSync(folder);
  return {
    folder,
    canLimit: divide(mount) && divide(folder),
    [Symbol.dispose]: () => {
      rmdirSync(folder);
      execFileSync("umount", [mount]);
      rmdirSync(mount);
    },
  };
}

function divide(group: string): boolean {
  const offered = readFileSync(join(group, "cgroup.controllers"), "utf8").split(/\s+/);
  if (!["memory", "pids"].every((name) => offered.includes(name))) return false;
  try {
    writeFileSync(join(group, "cgroup.subtree_control"), "+memory +pids");
    return true;
  } catch {
    return false;
  }
}
