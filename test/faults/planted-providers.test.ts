/**
 * A configuration that runs code during `terraform init` and plants a provider package, which must
 * reach no other job. At every isolation level that works here, with a real agent, real terraform,
 * a registry over TLS and an empty S3 endpoint.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packageHash } from "../../agent/job/providers/store.ts";
import { startAgent, until, type AgentProcess } from "../helpers/agent/agent-process.ts";
import { platform, zipOf } from "../helpers/agent/release-mirror.ts";
import { makeCertificate } from "../helpers/network/certificate.ts";
import {
  backendWithProgram,
  emptyBucket,
  type EmptyBucket,
} from "../helpers/store/empty-bucket.ts";
import { startGitHost, type GitHost } from "../helpers/agent/git-host.ts";
import { containerStandIn } from "./container-stand-in.ts";
import {
  startInterfaceOnlyServer,
  type InterfaceOnlyServer,
  type PlainJob,
  ended,
} from "../helpers/agent/interface-only-server.ts";
import { levelsHere } from "../helpers/agent/isolation.ts";
import {
  startProviderRegistry,
  type ProviderRegistry,
} from "../helpers/agent/provider-registry.ts";
import { folderForFile } from "../helpers/machine/folders.ts";

const { working } = await levelsHere();
const place = folderForFile();
const certificate = makeCertificate(place, "localhost");
let server: InterfaceOnlyServer;
let registry: ProviderRegistry;
let git: GitHost;
let bucket: EmptyBucket;
beforeAll(async () => {
  server = await startInterfaceOnlyServer();
  registry = await startProviderRegistry(certificate);
  git = await startGitHost(certificate);
  bucket = await emptyBucket();
});
afterAll(async () => {
  await bucket.close();
  await git[Symbol.asyncDispose]();
  await registry[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const name = "thing";
const version = "1.0.0";
const file = `terraform-provider-${name}_v${version}`;
const address = (): string => `${registry.host}/team/${name}`;
const main = (): string => `
terraform {
  required_providers {
    thing = {
      source = "${address()}"
    }
  }
}
output "it" {
  value = 1
}
`;
const plan = async (files: Record<string, string>): Promise<PlainJob> => {
  const source = { type: "inline", files: { "main.tf": main(), ...files } };
  return ended(server.enqueue({ job_type: "PLAN", config_snapshot: { source } }));
};
const succeeded = async (files: Record<string, string> = {}): Promise<string> => {
  const job = await plan(files);
  expect([job.status, job.reports.at(-1), server.log(job, "STDERR")]).toEqual([
    "SUCCESS",
    expect.anything(),
    "",
  ]);
  const artifact = join(place, "artifact.tar.gz");
  writeFileSync(artifact, job.artifact ?? "");
  const args = ["-xzOf", artifact, ".terraform.lock.hcl"];
  return execFileSync("tar", args, { encoding: "utf8" });
};

async function hashOf(executable: string): Promise<string> {
  const folder = join(place, createHash("sha256").update(executable).digest("hex"));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, file), executable, { mode: 0o755 });
  return packageHash(folder);
}

const lockWith = (...hashes: string[]): string => `provider "${address()}" {
  version = "${version}"
  hashes = [
${hashes.map((hash) => `    "${hash}",\n`).join("")}  ]
}
`;

/** The contents of all files that the agent keeps for later jobs. */
function keptFiles(workDir: string): string[] {
  const store = join(workDir, "providers");
  if (!existsSync(store)) return [];
  return readdirSync(store, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"));
}

/** Returns them for everything in the store: programs, records and directories. */
function ownersAndModes(workDir: string): [number, number][] {
  const store = join(workDir, "providers");
  const found = readdirSync(store, { recursive: true, withFileTypes: true }).map((entry) => {
    const { uid, mode } = lstatSync(join(entry.parentPath, entry.name));
    return `${uid} ${mode & 0o777}`;
  });
  return [...new Set(found)]
    .toSorted()
    .map((each) => each.split(" ").map(Number) as [number, number]);
}

async function agentAt(level: string): Promise<{ agent: AgentProcess; workDir: string }> {
  const workDir = join(place, level);
  const agent = startAgent({
    PATH: `${containerStandIn(place)}:${process.env["PATH"]}`,
    ...server.settings,
    WINDLASS_WORK_DIR: workDir,
    WINDLASS_ISOLATION: level,
    WINDLASS_CONTAINER_IMAGE: "image",
    WINDLASS_FREE_DISK_MIB: "1",
    SSL_CERT_FILE: certificate.file,
  });
  await until(() => agent.log().includes("ready for jobs"));
  return { agent, workDir };
}

const levels = working.includes("bubblewrap") ? [...working, "container"] : working;

describe.each(levels)("at level %s a planted provider", (level) => {
  test("of a backend's program reaches neither the cache nor another job, with or without a lock file", async () => {
    const executable = registry.publish(name, version, level);
    const evil = executable.replace("// ", "// evil");
    const hash = await hashOf(evil);
    const sums = registry.zipHashes(name, version);
    const { agent, workDir } = await agentAt(level);
    await using _ = agent;
    const folder = `.terraform/providers/${address()}/${version}/${platform}`;
    const hostileFiles = {
      ...backendWithProgram(
        bucket.url,
        `rm -rf ${folder}; mkdir -p ${folder}; cp evil ${folder}/${file}; chmod 755 ${folder}/${file}; ` +
          `rm -f .terraform.lock.hcl; cp lock .terraform.lock.hcl`,
      ),
      evil,
      lock: lockWith(hash, ...sums),
    };
    const attacker = await plan(hostileFiles);
    // The attack succeeds in its own job.
    expect([attacker.status, server.log(attacker, "STDERR")]).toEqual(["SUCCESS", ""]);

    const fresh = await succeeded();
    expect(fresh).not.toContain(hash);
    const genuine = lockWith(await hashOf(executable), ...sums);
    expect(await succeeded({ ".terraform.lock.hcl": genuine })).not.toContain(hash);
    // A lock file from another platform has only the hashes of the zips.
    expect(await succeeded({ ".terraform.lock.hcl": lockWith(...sums) })).not.toContain(hash);
    expect(ownersAndModes(workDir)).toEqual([
      [process.getuid?.(), 0o555],
      [process.getuid?.(), 0o600],
      [process.getuid?.(), 0o755],
    ]);
    const kept = keptFiles(workDir).join("");
    expect(kept).not.toContain("// evil");
    expect(kept).not.toContain(hash);
    expect(kept).toContain("plugin.GRPCController");
  });
});

test("a packed provider in the source is used by its own job and not cached", async () => {
  const executable = registry.publish(name, version, "packed");
  const evil = executable.replace("// ", "// evil");
  const { agent, workDir } = await agentAt(working.at(-1) ?? "process");
  await using _ = agent;
  const archive = `terraform.d/plugins/${address()}/terraform-provider-${name}_${version}_${platform}.zip`;
  git.commit("team/packed", { "main.tf": main(), [archive]: zipOf({ [file]: evil }) });
  const source = { type: "git", url: `https://${git.host}/team/packed` };
  const job = await ended(server.enqueue({ job_type: "PLAN", config_snapshot: { source } }));
  expect([job.status, server.log(job, "STDERR")]).toEqual(["SUCCESS", ""]);
  expect(keptFiles(workDir).join("")).not.toContain("// evil");
});
