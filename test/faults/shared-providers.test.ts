/** The cache of provider packages, with a real agent, terraform and registry. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { packageHash } from "../../agent/job/providers/store.ts";
import { startAgent, until, type AgentProcess } from "../helpers/agent/agent-process.ts";
import { makeCertificate } from "../helpers/network/certificate.ts";
import {
  startInterfaceOnlyServer,
  type InterfaceOnlyServer,
  type PlainJob,
  ended,
} from "../helpers/agent/interface-only-server.ts";
import {
  startProviderRegistry,
  type ProviderRegistry,
} from "../helpers/agent/provider-registry.ts";
import { testEngine, testProgram } from "../helpers/agent/engines.ts";
import { writeFiles } from "../helpers/agent/fixtures.ts";
import { folderForFile } from "../helpers/machine/folders.ts";

const place = folderForFile();
const certificate = makeCertificate(place, "localhost");
let server: InterfaceOnlyServer;
let registry: ProviderRegistry;
beforeAll(async () => {
  server = await startInterfaceOnlyServer();
  registry = await startProviderRegistry(certificate);
  agent = agentIn(workDir);
});
afterAll(async () => {
  await agent[Symbol.asyncDispose]();
  await registry[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

let agent: AgentProcess;
let count = 0;
const workDir = join(place, "agent");
let name: string;
let executable: string;
beforeEach(() => {
  name = `thing${++count}`;
  executable = registry.publish(name, "1.0.0");
});

const agentIn = (directory: string, more: Record<string, string> = {}): AgentProcess =>
  startAgent({
    ...server.settings,
    WINDLASS_WORK_DIR: directory,
    WINDLASS_CONCURRENCY: "4",
    WINDLASS_FREE_DISK_MIB: "1",
    SSL_CERT_FILE: certificate.file,
    ...more,
  });

const source = (): string => `${registry.host}/team/${name}`;
const plainMain = (): string =>
  `terraform {\n  required_providers {\n    thing = {\n      source = "${source()}"\n    }\n  }\n}\noutput "it" {\n  value = 1\n}\n`;
const snapshot = (files: Record<string, string> = {}, more: object = {}) => ({
  source: { type: "inline", files: { "main.tf": plainMain(), ...files } },
  ...more,
});
const plan = async (config_snapshot: object = snapshot()): Promise<PlainJob> => {
  const job = await ended(server.enqueue({ job_type: "PLAN", config_snapshot }));
  expect([
    job.status,
    job.reports.at(-1),
    job.status === "FAILED" && server.log(job, "STDERR"),
  ]).toEqual(["SUCCESS", expect.anything(), false]);
  return job;
};
const lockOf = (job: PlainJob): string => {
  const file = join(place, "artifact.tar.gz");
  writeFileSync(file, job.artifact ?? "");
  return execFileSync("tar", ["-xzOf", file, ".terraform.lock.hcl"], { encoding: "utf8" });
};
const store = (): string => join(workDir, "providers", source(), "1.0.0");
const platform = `${process.platform}_${process.arch === "x64" ? "amd64" : process.arch}`;
const kept = (): string =>
  readFileSync(join(store(), platform, `terraform-provider-${name}_v1.0.0`), "utf8");
const downloads = async <T>(work: () => Promise<T>): Promise<[T, number]> => {
  const before = registry.downloads();
  return [await work(), registry.downloads() - before];
};

describe("a provider", () => {
  test("is downloaded once and shared by later jobs, with the same lock file as after a download", async () => {
    const [first, once] = await downloads(() => plan());
    expect(once).toBe(1);
    expect(kept()).toBe(executable);
    const [others, none] = await downloads(() => Promise.all([plan(), plan(), plan(), plan()]));
    expect(none).toBe(0);
    expect(lockOf(first)).toMatch(/"h1:[^"]+",\n(\s+"zh:[0-9a-f]{64}",\n){2}/);
    for (const other of others) expect(lockOf(other)).toBe(lockOf(first));
    expect(lockOf(first)).toContain(`"${await packageHash(join(store(), platform))}"`);
  });

  test("is cached once and whole when several jobs need it first at the same time", async () => {
    const [, number] = await downloads(() => Promise.all([plan(), plan(), plan(), plan()]));
    expect(number).toBeLessThanOrEqual(4);
    expect(kept()).toBe(executable);
    expect(readdirSync(store()).toSorted()).toEqual([platform, `${platform}.json`]);
    expect(readdirSync(join(workDir, "providers"))).toEqual([registry.host]);
    expect((await downloads(() => plan()))[1]).toBe(0);
  });

  test("is downloaded in a newer version although an older one is cached", async () => {
    await plan();
    registry.publish(name, "1.1.0");
    const [newer, number] = await downloads(() => plan());
    expect([number, lockOf(newer)]).toEqual([1, expect.stringContaining('version = "1.1.0"')]);
  });

  test("is downloaded by another runner that deploys the plan", async () => {
    await plan();
    const made = await plan();
    await agent[Symbol.asyncDispose]();
    {
      await using elsewhere = agentIn(join(place, "elsewhere"));
      await until(() => elsewhere.log().includes("ready for jobs"));
      const deploy = { job_type: "DEPLOY", config_snapshot: snapshot(), plan: made };
      const [job, number] = await downloads(() => ended(server.enqueue(deploy)));
      expect([job.status, number]).toEqual(["SUCCESS", 1]);
    }
    agent = agentIn(workDir);
  });
});

describe("a lock file in the source", () => {
  test("that names the cached package uses it", async () => {
    const lock = lockOf(await plan());
    registry.publish(name, "1.1.0");
    const [job, number] = await downloads(() => plan(snapshot({ ".terraform.lock.hcl": lock })));
    expect([number, lockOf(job)]).toEqual([0, lock]);
  });

  test("from another platform uses the package, whether it is cached or not", async () => {
    const lock = lockOf(await plan());
    const foreign = lock.replace(/h1:[^"]+/, `h1:${"+".repeat(43)}=`);
    const [job, number] = await downloads(() => plan(snapshot({ ".terraform.lock.hcl": foreign })));
    expect(number).toBe(0);
    const both = lock.replace(/ {4}"h1:/, `    "h1:${"+".repeat(43)}=",\n$&`);
    expect(lockOf(job)).toBe(both);
    rmSync(join(workDir, "providers", registry.host), { recursive: true });
    const [again, once] = await downloads(() => plan(snapshot({ ".terraform.lock.hcl": foreign })));
    expect([once, lockOf(again)]).toEqual([1, both]);
  });
});

describe("a mirror on the network", () => {
  /** A mirror has no addresses with a port. */
  const address = (): string => `providers.example/team/${name}`;
  const main = (own = address()): string => plainMain().replace(source(), own);
  const lockFor = (hashes: readonly string[], own = address()): string =>
    foreignLock(hashes).replace(source(), own);
  const files = (lock?: string, own?: string) => ({
    source: {
      type: "inline",
      files: { "main.tf": main(own), ...(lock && { ".terraform.lock.hcl": lock }) },
    },
  });
  /** An agent that takes all packages from it. */
  const mirrored = async (mirror: string, work: () => Promise<void>): Promise<void> => {
    await agent[Symbol.asyncDispose]();
    {
      const directory = join(place, `mirrored-${name}`);
      await using other = agentIn(directory, { WINDLASS_PROVIDER_MIRROR: mirror });
      await until(() => other.log().includes("ready for jobs"));
      await work();
    }
    agent = agentIn(workDir);
  };
  const numberOf = async (config_snapshot: object): Promise<number> =>
    (await downloads(() => plan(config_snapshot)))[1];

  test("that names no hashes gives each package once", () =>
    mirrored(registry.mirror(address(), "1.0.0"), async () => {
      const [first, once] = await downloads(() => plan(files()));
      const [again, none] = await downloads(() => plan(files()));
      expect([once, none, lockOf(again)]).toEqual([1, 0, lockOf(first)]);
      expect(lockOf(first)).toMatch(/hashes = \[\n {4}"h1:[^"]+",\n {2}\]/);
    }));

  test("gives each package once for lock files of another platform, and again for other hashes", () =>
    mirrored(registry.mirror(address(), "1.0.0"), async () => {
      const hashes = registry.zipHashes(name, "1.0.0");
      const all = files(lockFor(hashes));
      expect([await numberOf(all), await numberOf(all)]).toEqual([1, 0]);
      const fewer = files(lockFor(hashes.slice(0, 1)));
      expect([await numberOf(fewer), await numberOf(fewer)]).toEqual([1, 0]);
      // The registry has signed other zips of this version.
      const config_snapshot = files(lockFor([`zh:${"0".repeat(64)}`]));
      const refused = await ended(server.enqueue({ job_type: "PLAN", config_snapshot }));
      expect(refused.status).toBe("FAILED");
    }));

  test("gives OpenTofu the version that a lock file of terraform has, and the log says so", async ({
    skip,
  }) => {
    skip(testEngine !== "opentofu", "needs an OpenTofu binary, and then runs as faults-tofu");
    const own = `registry.opentofu.org/hashicorp/${name}`;
    const old = `registry.terraform.io/hashicorp/${name}`;
    registry.publish(name, "1.1.0");
    registry.mirror(own, "1.0.0");
    await mirrored(registry.mirror(own, "1.1.0", registry.zipHashes(name, "1.1.0")), async () => {
      const config_snapshot = files(lockFor(["zh:00"], old), `hashicorp/${name}`);
      const [first, once] = await downloads(() => plan(config_snapshot));
      expect(lockOf(first)).toMatch(
        new RegExp(`^provider "${own}" {\n  version *= "1.0.0"\n  hashes = \\[\n    "h1:`, "m"),
      );
      expect(lockOf(first)).not.toContain(old);
      expect(server.log(first, "SYSTEM")).toContain(
        `OpenTofu takes ${own} 1.0.0 in the same version from its own registry`,
      );
      const [again, none] = await downloads(() => plan(config_snapshot));
      expect([once, none, lockOf(again)]).toEqual([1, 0, lockOf(first)]);
    });
  });
});

/** From a machine of another platform: without the hash of the package that is installed here. */
const foreignLock = (hashes: readonly string[], version = "1.0.0"): string =>
  `provider "${source()}" {\n  version = "${version}"\n  hashes = [\n${[...hashes, `h1:${"+".repeat(43)}=`].map((hash) => `    "${hash}",\n`).join("")}  ]\n}\n`;

describe("where nothing is kept, a lock file from another platform", () => {
  /** Packed packages, whose hashes a lock file of any platform has. */
  const mirrorOf = (): string => {
    const mirror = join(place, `mirror-${name}`);
    const archive = `terraform-provider-${name}_1.0.0_${platform}.zip`;
    writeFiles(mirror, { [`${source()}/${archive}`]: registry.zip(name, "1.0.0") });
    return mirror;
  };
  const uses = async (settings: Record<string, string>, more: object = {}): Promise<void> => {
    await agent[Symbol.asyncDispose]();
    {
      await using other = agentIn(join(place, `foreign-${name}`), settings);
      await until(() => other.log().includes("ready for jobs"));
      const hashes = registry.zipHashes(name, "1.0.0");
      const lock = foreignLock(hashes);
      const job = await plan(snapshot({ ".terraform.lock.hcl": lock }, more));
      for (const hash of hashes) expect(lockOf(job)).toContain(hash);
    }
    agent = agentIn(workDir);
  };

  test("is completed with WINDLASS_CACHE_GIB=0", () => uses({ WINDLASS_CACHE_GIB: "0" }));
  test("is completed with packages of a mirror in a directory", () =>
    uses({ WINDLASS_PROVIDER_MIRROR: mirrorOf() }));
  test("is completed in a job with a TF_TOKEN_…", () =>
    uses({}, { environment: { TF_TOKEN_example_com: "x" } }));
});

test("a lock file that lacks a provider fails the job, with or without a cache", async () => {
  const text = foreignLock([]).replaceAll(name, "another");
  for (const environment of [{}, { TF_TOKEN_example_com: "x" }]) {
    const files = snapshot({ ".terraform.lock.hcl": text }, { environment });
    const job = await ended(server.enqueue({ job_type: "PLAN", config_snapshot: files }));
    expect(job.reports.at(-1)).toMatchObject({
      status: "FAILED",
      error_message: `init: the lock file does not name ${source()} 1.0.0, which the configuration needs. Run ${testProgram} init in its directory, and keep .terraform.lock.hcl with the files`,
    });
  }
});

describe("the cache", () => {
  const evil = (): string => executable.replace("// ", "// evil");
  const names = (): string => `${source()}/1.0.0/${platform}/terraform-provider-${name}_v1.0.0`;

  test("takes no package from the source of a job, and the job succeeds", async () => {
    const folders = ["terraform.d/plugins", ".terraform/providers", "shared/providers"];
    for (const path of folders) await plan(snapshot({ [`${path}/${names()}`]: evil() }));
    await plan();
    expect(kept()).toBe(executable);
  });

  test("does not hide a provider that only the source has", async () => {
    const own = `${registry.host}/team/brought`;
    const path = `terraform.d/plugins/${own}/1.0.0/${platform}/terraform-provider-brought_v1.0.0`;
    const files = { "main.tf": plainMain().replace(source(), own), [path]: executable };
    await plan({ source: { type: "inline", files } });
    expect(existsSync(join(workDir, "providers", own))).toBe(false);
  });

  test("takes no package from a job that sets the network of terraform", async () => {
    // These values change nothing here, but a job could set others.
    await plan(snapshot({}, { environment: { SSL_CERT_FILE: certificate.file } }));
    await plan(snapshot({}, { environment: { NO_PROXY: "localhost" } }));
    expect(existsSync(store())).toBe(false);
    const [, number] = await downloads(() =>
      plan(snapshot({}, { environment: { TF_VAR_x: "1" } })),
    );
    expect([number, kept()]).toEqual([1, executable]);
    const environment = { SSL_CERT_FILE: certificate.file };
    expect((await downloads(() => plan(snapshot({}, { environment }))))[1]).toBe(0);
  });
});

test("without a cache every job downloads, and with a provider mirror no registry is called", async () => {
  await plan();
  const mirror = join(place, "mirror");
  execFileSync("cp", ["-r", join(workDir, "providers"), mirror]);
  await agent[Symbol.asyncDispose]();
  {
    const other = join(place, "uncached");
    await using uncached = agentIn(other, { WINDLASS_CACHE_GIB: "0" });
    await until(() => uncached.log().includes("ready for jobs"));
    expect((await downloads(() => Promise.all([plan(), plan()])))[1]).toBe(2);
    expect(readdirSync(join(other, "providers"))).toEqual([]);
  }
  await using mirrored = agentIn(join(place, "mirrored"), {
    WINDLASS_PROVIDER_MIRROR: mirror,
  });
  await until(() => mirrored.log().includes("ready for jobs"));
  const before = registry.requests.length;
  await plan();
  expect(registry.requests.length).toBe(before);
  agent = agentIn(workDir);
});
