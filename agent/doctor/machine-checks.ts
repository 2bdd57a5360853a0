/**
 * Checks what jobs need on this machine: the work directory, an engine, git, isolation, a cloud
 * role.
 */
import { accessSync, constants, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Engine } from "../../protocol/configurations.ts";
import type { AgentConfig } from "../config.ts";
import { freeBytes } from "../machine/disk-space.ts";
import { isolate } from "../isolate.ts";
import { roleAssumer } from "../job/credentials/assume-role.ts";
import { newestRelease } from "../job/engine/download.ts";
import { mirrorOf, reasonOf } from "../job/engine/engine.ts";
import { findInstalled } from "../job/engine/installed.ts";
import { delegationOf, dividedGroupOf, groupOf } from "../job/isolation/cgroup.ts";
import { limitsBy } from "../job/isolation/limits.ts";
import { checkTemporary } from "../job/isolation/temporary.ts";
import { engineCache } from "../job/shared-cache.ts";
import { parseConstraint } from "../../common/version-constraint.ts";
import { holderOf, lockDirectory, LockUnavailableError } from "../machine/lock.ts";
import { runProgram } from "../machine/programs.ts";
import { finding, ok, type Finding } from "./finding.ts";
import { gibibyte, minute } from "../../common/units.ts";

/** Checks that the work directory can be written to, has space, and may run programs. */
export async function workDirectory({
  workDir,
  path,
  freeDiskBytes,
}: AgentConfig): Promise<Finding> {
  const check = "work dir";
  let probe: string | undefined;
  try {
    accessSync(workDir, constants.R_OK | constants.W_OK | constants.X_OK);
    probe = mkdtempSync(join(workDir, "doctor-"));
    const program = join(probe, "program");
    writeFileSync(program, "#!/bin/sh\n", { mode: 0o700 });
    await runProgram(program, [], { env: { PATH: path } });
    const unlock = await lockDirectory(probe);
    unlock();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" && probe === undefined)
      return ok(check, `${workDir} will be created at the first start`);
    if (error instanceof LockUnavailableError)
      return finding(check, "failed", message, flockAdvice);
    const advice =
      code === "EACCES" && probe !== undefined
        ? "programs may not run there (noexec): set WINDLASS_WORK_DIR to another directory"
        : "run this as the agent's own user (windlass agent doctor --help shows how), or set WINDLASS_WORK_DIR";
    return finding(check, "failed", `${workDir}: ${message}`, advice);
  } finally {
    if (probe !== undefined) rmSync(probe, { recursive: true, force: true });
  }
  try {
    checkTemporary(workDir);
  } catch (error) {
    const advice = "set WINDLASS_WORK_DIR to a shorter path";
    return finding(check, "failed", `${workDir}: ${(error as Error).message}`, advice);
  }
  const free = freeBytes(workDir);
  const text = `${workDir}, ${gibibytes(free)} free`;
  if (free < freeDiskBytes) {
    const advice = `with less than ${gibibytes(freeDiskBytes)} the agent takes no job: free some space, or lower WINDLASS_FREE_DISK_MIB`;
    return finding(check, "failed", text, advice);
  }
  const holder = holderOf(workDir);
  return ok(check, holder ? `${text}; an agent is using it (pid ${holder.pid})` : text);
}

const flockAdvice =
  "install util-linux; if this is a network file system without locks (flock), set WINDLASS_WORK_DIR to another directory";

const gibibytes = (bytes: number): string => `${(bytes / gibibyte).toFixed(1)} GiB`;

/** Looks for terraform and OpenTofu on the PATH and in the cache. */
export async function engines(config: AgentConfig): Promise<Finding> {
  const found: string[] = [];
  const cacheDirectory = engineCache(config.workDir);
  // A check leaves the agent's own cache unchanged.
  const memory = mkdtempSync(join(tmpdir(), "windlass-doctor-"));
  try {
    const signal = AbortSignal.timeout(30_000);
    const where = { path: config.path, cacheDirectory, memory, signal };
    for (const engine of ["terraform", "opentofu"] satisfies Engine[]) {
      const { fitting } = await findInstalled(engine, parseConstraint(null), where);
      if (fitting) found.push(`${engine} ${fitting.version.text} (${fitting.path})`);
    }
  } finally {
    rmSync(memory, { recursive: true, force: true });
  }
  if (found.length > 0) return ok("engine", found.join(", "));
  if (config.engineOffline)
    return finding(
      "engine",
      "failed",
      "neither terraform nor tofu is on the PATH or in the cache, and WINDLASS_ENGINE_OFFLINE=1 forbids downloads",
      "install one on the agent's PATH",
    );
  return download(config);
}

/** Reads the list of releases, as a job does before it downloads one. */
async function download({ engineMirror, network }: AgentConfig): Promise<Finding> {
  const none = "neither terraform nor tofu is on the PATH";
  const mirror = mirrorOf(engineMirror);
  try {
    const options = { mirror, network, signal: AbortSignal.timeout(30_000) };
    const { text } = await newestRelease(options);
    return ok(
      "engine",
      `${none}; jobs download terraform from ${mirror} (the newest one there is ${text})`,
    );
  } catch (error) {
    return finding(
      "engine",
      "failed",
      `${none}, and terraform cannot be downloaded: ${reasonOf(error)}`,
      "install one on the agent's PATH, or set WINDLASS_ENGINE_MIRROR to an address of terraform releases that this machine can reach",
    );
  }
}

/** Looks for git, which fetches configurations from repositories. */
export async function git({ path }: AgentConfig): Promise<Finding> {
  try {
    const version = await runProgram("git", ["--version"], { env: { PATH: path } });
    return ok("git", version.trim().replace(/^git version /, ""));
  } catch {
    const text = "git is not on the PATH: configurations from repositories fail here";
    return finding("git", "warning", text, "install git");
  }
}

/** Finds the isolation level that jobs get, and what stronger levels need. */
export async function isolation(config: AgentConfig): Promise<Finding> {
  let place: string | undefined;
  try {
    place = mkdtempSync(join(trialFolder(config), ".windlass-doctor-"));
    const { settings, missing } = await isolate(config, place);
    const { level } = settings;
    const stronger = missing.length > 0 ? ` (stronger levels: ${missing.join("; ")})` : "";
    const text = `${level}${stronger}; limits ${limitsOf(config)}`;
    return level === "process"
      ? finding(
          "isolation",
          "warning",
          text,
          "jobs can read everything that the agent can read: see docs/isolation.md",
        )
      : ok("isolation", text);
  } catch (error) {
    return finding("isolation", "failed", (error as Error).message, "see docs/isolation.md");
  } finally {
    if (place !== undefined) rmSync(place, { recursive: true, force: true });
  }
}

/**
 * Describes the limits of the running agent, which may be in another control group than this
 * process, or of an agent started here.
 */
function limitsOf({ workDir, systemd }: AgentConfig): string {
  const holder = holderOf(workDir);
  const { folder, lack } = holder
    ? { folder: dividedGroupOf(holder.pid), lack: undefined }
    : delegationOf(groupOf("self"), systemd.isUnit);
  return `${limitsBy(folder)}${folder ? ` in ${folder}` : ""}${lack ? `: ${lack}` : ""}`;
}

/**
 * Returns the parent of the work directory, which itself stays unchanged. Without `users` the
 * parent may not be writable, so it is the work directory.
 */
function trialFolder({ workDir, users }: AgentConfig): string {
  let folder = users ? dirname(workDir) : workDir;
  while (!existsSync(folder)) folder = dirname(folder);
  return folder;
}

/** Assumes the role exactly as a job does. Skipped if no role is named. */
export async function cloudRole(
  config: AgentConfig,
  role: { arn: string | undefined; externalId: string | undefined },
): Promise<Finding> {
  const { arn, externalId } = role;
  if (arn === undefined)
    return finding("cloud role", "skipped", "pass --role-arn ARN --external-id ID to check a role");
  const tags = { "windlass:job": "doctor" };
  const { cloud, network } = config;
  const session = { arn, externalId, session: "windlass-doctor", tags };
  try {
    const assume = roleAssumer(session, { aws: cloud.aws, network });
    const { life } = await assume(AbortSignal.timeout(30_000));
    return ok(
      "cloud role",
      `${arn} can be assumed; the session is ${Math.round(life / minute)} minutes long`,
    );
  } catch (error) {
    const { message, name } = error as Error;
    const advice =
      name === "RoleRefused"
        ? undefined
        : "check that AWS STS can be reached from here, the proxy and the region";
    return finding("cloud role", "failed", message, advice);
  }
}
