/** Checks the work directory: that it can be made or written to, has space, and may run programs. */
import { accessSync, constants, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gibibyte } from "../../common/units.ts";
import type { AgentConfig } from "../config.ts";
import { checkTemporary } from "../job/isolation/temporary.ts";
import { freeBytes } from "../machine/disk-space.ts";
import { holderOf, lockDirectory, LockUnavailableError } from "../machine/lock.ts";
import { runProgram } from "../machine/programs.ts";
import { finding, ok, type Finding } from "../../common/doctor/finding.ts";

const check = "work dir";

export async function workDirectory(config: AgentConfig): Promise<Finding> {
  const { workDir, freeDiskBytes, systemd } = config;
  const place = existingFolder(workDir);
  const isNew = place !== workDir;
  const created = ok(check, `${workDir} will be created at the first start`);
  // systemd creates it as root, where this user may not.
  if (isNew && systemd.isUnit) return created;
  const fault = await faultIn(place, config);
  if (fault) return fault;
  const free = freeBytes(place);
  const text = `${workDir}, ${gibibytes(free)} free`;
  if (free < freeDiskBytes) {
    const advice = `with less than ${gibibytes(freeDiskBytes)} the agent takes no job: free some space, or lower WINDLASS_FREE_DISK_MIB`;
    return finding(check, "failed", text, advice);
  }
  if (isNew) return created;
  const holder = holderOf(workDir);
  return ok(check, holder ? `${text}; an agent is using it (pid ${holder.pid})` : text);
}

/** Returns the directory, or the closest one above it that exists. */
export function existingFolder(path: string): string {
  let folder = path;
  while (!existsSync(folder)) folder = dirname(folder);
  return folder;
}

/** Tries out in `place` what the agent does in its work directory. */
async function faultIn(
  place: string,
  { workDir, path }: AgentConfig,
): Promise<Finding | undefined> {
  let probe: string | undefined;
  try {
    // The dot makes a file in its place an error of its own.
    accessSync(`${place}/.`, constants.R_OK | constants.W_OK | constants.X_OK);
    probe = mkdtempSync(join(place, ".windlass-doctor-"));
    const program = join(probe, "program");
    writeFileSync(program, "#!/bin/sh\n", { mode: 0o700 });
    await runProgram(program, [], { env: { PATH: path } });
    const unlock = await lockDirectory(probe);
    unlock();
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    if (error instanceof LockUnavailableError)
      return finding(check, "failed", message, flockAdvice);
    const advice = code === "EACCES" && probe !== undefined ? noexecAdvice : adviceFor[code];
    return finding(check, "failed", `${workDir}: ${message}`, advice ?? otherAdvice);
  } finally {
    if (probe !== undefined) rmSync(probe, { recursive: true, force: true });
  }
  try {
    checkTemporary(workDir);
  } catch (error) {
    const advice = "set WINDLASS_WORK_DIR to a shorter path";
    return finding(check, "failed", `${workDir}: ${(error as Error).message}`, advice);
  }
  return undefined;
}

const flockAdvice =
  "install util-linux; if this is a network file system without locks (flock), set WINDLASS_WORK_DIR to another directory";
const noexecAdvice =
  "programs may not run there (noexec): set WINDLASS_WORK_DIR to another directory";
const fullAdvice =
  "free some space on its disk, or set WINDLASS_WORK_DIR to a directory on another one";
const nowhereAdvice = "no directory can be made there: set WINDLASS_WORK_DIR to another one";
const adviceFor: Readonly<Record<string, string>> = {
  ENOSPC: fullAdvice,
  EDQUOT: fullAdvice,
  EROFS: "its disk is read-only: set WINDLASS_WORK_DIR to a directory on another one",
  ENOENT: nowhereAdvice,
  ENOTDIR: nowhereAdvice,
};
const otherAdvice =
  "run this as the agent's own user (windlass agent doctor --help shows how), or set WINDLASS_WORK_DIR";

const gibibytes = (bytes: number): string => `${(bytes / gibibyte).toFixed(1)} GiB`;
