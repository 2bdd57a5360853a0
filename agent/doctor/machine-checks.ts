/** Checks what jobs need on this machine: an engine, git, isolation, a cloud role. */
import { once } from "node:events";
import { accessSync, constants, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Engine } from "../../protocol/configurations.ts";
import type { Address, AgentConfig } from "../config.ts";
import { isInImage, isolate } from "../isolate.ts";
import { roleAssumer } from "../job/credentials/assume-role.ts";
import { newestRelease } from "../job/engine/download.ts";
import { reasonOf } from "../job/engine/engine.ts";
import { findInstalled, programs } from "../job/engine/installed.ts";
import { releases } from "../job/engine/releases.ts";
import { imageAdvice } from "../job/isolation/choose.ts";
import { delegationOf, dividedGroupOf, groupOf } from "../job/isolation/cgroup.ts";
import { limitsBy } from "../job/isolation/limits.ts";
import { engineCache } from "../job/shared-cache.ts";
import { request } from "../../common/http-client.ts";
import { parseConstraint } from "../../common/version-constraint.ts";
import { holderOf } from "../machine/lock.ts";
import { dispatcherOf } from "../../common/http-proxies.ts";
import { runProgram } from "../machine/programs.ts";
import { finding, ok, type Finding } from "../../common/doctor/finding.ts";
import { existingFolder } from "./work-directory.ts";
import { minute } from "../../common/units.ts";

/** Tries the address at which the agent serves its status, if no agent runs. */
export async function status({ workDir }: AgentConfig, address: Address): Promise<Finding> {
  const check = "status";
  const place = `${address.host}:${address.port} (WINDLASS_STATUS_ADDRESS)`;
  if (holderOf(workDir)) return finding(check, "skipped", `${place} is of the running agent`);
  const server = createServer();
  try {
    server.listen(address);
    await once(server, "listening");
    return ok(check, `${place} is free`);
  } catch (error) {
    const advice = "the agent works without it, and tries again: end what uses it, or change it";
    return finding(check, "warning", `${place}: ${(error as Error).message}`, advice);
  } finally {
    server.close();
  }
}

const engineNames = ["terraform", "opentofu"] satisfies Engine[];

/** Looks for terraform and OpenTofu on the PATH and in the cache. */
export async function engines(config: AgentConfig): Promise<Finding> {
  const found: string[] = [];
  const cacheDirectory = engineCache(config.workDir);
  // A check leaves the agent's own cache unchanged.
  const memory = mkdtempSync(join(tmpdir(), "windlass-doctor-"));
  try {
    const signal = AbortSignal.timeout(30_000);
    const where = { path: config.path, cacheDirectory, memory, signal };
    for (const engine of engineNames) {
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

/** Reads the lists of releases, as a job does before it downloads one. */
async function download({ engineMirrors, network }: AgentConfig): Promise<Finding> {
  const none = "neither terraform nor tofu is on the PATH";
  const signal = AbortSignal.timeout(30_000);
  const found = await Promise.all(
    engineNames.map(async (engine) => {
      const mirror = engineMirrors[engine];
      try {
        const { text } = await newestRelease({ engine, mirror, network, signal });
        const place = mirror ?? releases[engine].usual.list;
        const words = `jobs download ${programs[engine]} from ${place} (the newest one there is ${text})`;
        return { isThere: true, words };
      } catch (error) {
        return {
          isThere: false,
          words: `${programs[engine]} cannot be downloaded: ${reasonOf(error)}`,
        };
      }
    }),
  );
  const text = [none, ...found.map(({ words }) => words)].join("; ");
  return found.some(({ isThere }) => isThere)
    ? ok("engine", text)
    : finding(
        "engine",
        "failed",
        text,
        "install one on the agent's PATH, or set WINDLASS_ENGINE_MIRROR or WINDLASS_TOFU_MIRROR to an address of releases that this machine can reach",
      );
}

/** Looks at the only place from which jobs install providers, if one is set. */
export async function providers(mirror: string, network: AgentConfig["network"]): Promise<Finding> {
  const place = `${mirror} (WINDLASS_PROVIDER_MIRROR)`;
  try {
    if (mirror.startsWith("/")) readdirSync(mirror);
    else await askMirror(mirror, network);
    return ok("providers", `come from ${place}`);
  } catch (error) {
    return finding(
      "providers",
      "failed",
      `${place}: ${(error as Error).message}`,
      "jobs cannot install providers: correct the setting or the mirror",
    );
  }
}

/** Asks for a provider as terraform does: https://developer.hashicorp.com/terraform/internals/provider-network-mirror-protocol. */
async function askMirror(mirror: string, network: AgentConfig["network"]): Promise<void> {
  const address = `${mirror.replace(/\/$/, "")}/registry.terraform.io/hashicorp/null/index.json`;
  const dispatcher = dispatcherOf(network);
  try {
    const signal = AbortSignal.timeout(30_000);
    const { statusCode, body } = await request(address, { dispatcher, signal });
    await body.dump();
    // A mirror need not have this provider.
    if (statusCode !== 200 && statusCode !== 404) throw new Error(`it responds ${statusCode}`);
  } finally {
    await dispatcher.destroy();
  }
}

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
          `jobs can read everything that the agent can read: see docs/isolation.md${isInImage() ? `. ${imageAdvice}` : ""}`,
        )
      : ok("isolation", text);
  } catch (error) {
    return finding("isolation", "failed", (error as Error).message, "see docs/isolation.md");
  } finally {
    if (place !== undefined) rmSync(place, { recursive: true, force: true });
  }
}

/** The limits of the running agent, perhaps in another control group, or of one started here. */
function limitsOf({ workDir, systemd }: AgentConfig): string {
  const holder = holderOf(workDir);
  const { folder, lack } = holder
    ? { folder: dividedGroupOf(holder.pid), lack: undefined }
    : delegationOf(groupOf("self"), systemd.isUnit);
  return `${limitsBy(folder)}${folder ? ` in ${folder}` : ""}${lack ? `: ${lack}` : ""}`;
}

/** Returns the parent of the work directory, or itself if the agent cannot write to the parent. */
function trialFolder({ workDir, users }: AgentConfig): string {
  const parent = existingFolder(dirname(workDir));
  return users && isWritable(parent) ? parent : existingFolder(workDir);
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
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
      name === "IdentityRefusedError"
        ? undefined
        : "check that AWS STS can be reached from here, the proxy and the region";
    return finding("cloud role", "failed", message, advice);
  }
}
