/**
 * Jobs that use a provider of 600 MB that the agent has cached. The time
 * of all `terraform init` of a job, as a ratio to the one of the same directory with terraform's own
 * plugin cache, which has the provider too, and the disk space that ten jobs at once need in
 * addition. A registry on the loopback serves the provider, once to each cache.
 */
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { execa } from "execa";
import { call } from "../protocol/transport.ts";
import { makeCertificate } from "../test/helpers/network/certificate.ts";
import { startProviderRegistry } from "../test/helpers/agent/provider-registry.ts";
import { fill, type Filled } from "./lib/fill.ts";
import { startAgent, startWindlass, stop } from "./lib/processes.ts";
import { signIn } from "./lib/sign-in.ts";
import { median, printTable } from "./lib/table.ts";

const rounds = 5;
const jobsAtOnce = 10;
const bytes = 600e6;

const scratch = mkdtempSync(join(tmpdir(), "windlass-bench-"));
const folder = (name: string): string => {
  mkdirSync(join(scratch, name));
  return join(scratch, name);
};
const certificate = makeCertificate(scratch, "localhost");
await using registry = await startProviderRegistry(certificate);
registry.publish("large", "1.0.0", "", Buffer.alloc(bytes, "windlass"));

// Both run terraform by a script that notes the time of each `init`.
const notes = join(scratch, "inits");
const terraform = (await execa("sh", ["-c", "command -v terraform"])).stdout;
const programs = folder("bin");
writeFileSync(
  join(programs, "terraform"),
  `#!/bin/sh
begun=$(date +%s%N)
'${terraform}' "$@"
code=$?
[ "$1" = init ] && echo $(($(date +%s%N) - begun)) >> '${notes}'
exit $code
`,
);
chmodSync(join(programs, "terraform"), 0o755);
const env = {
  PATH: `${programs}:${process.env["PATH"]}`,
  SSL_CERT_FILE: certificate.file,
  CHECKPOINT_DISABLE: "1",
};

/** Returns the milliseconds of every `init` of some work. */
async function initsOf(work: () => Promise<unknown>): Promise<number[]> {
  writeFileSync(notes, "");
  await work();
  return readFileSync(notes, "utf8")
    .trim()
    .split("\n")
    .map((line) => Number(line) / 1e6);
}
const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);

const main = `terraform {
  required_providers {
    large = { source = "${registry.host}/team/large" }
  }
}
output "cluster_name" { value = "bench" }
`;
const cache = folder("cache");
async function initInShell(name: string, files: Record<string, string>): Promise<string> {
  const cwd = folder(name);
  for (const [file, text] of Object.entries(files)) writeFileSync(join(cwd, file), text);
  await execa("terraform", ["init", "-input=false"], {
    cwd,
    env: { ...env, HOME: cwd, TF_PLUGIN_CACHE_DIR: cache },
  });
  return readFileSync(join(cwd, ".terraform.lock.hcl"), "utf8");
}
// Fills the plugin cache. Everyone who commits their lock file has the hashes that this writes.
const lock = await initInShell("first", { "main.tf": main });
const files = { "main.tf": main, ".terraform.lock.hcl": lock };

let filled!: Filled;
let headers!: Record<string, string>;
const server = await startWindlass(async (directory) => {
  filled = await fill(directory, 0);
  headers = await signIn(directory, filled.busyOwner);
});
const workDirectory = join(scratch, "agent");
const agent = startAgent(server.url, filled.busyWorker, workDirectory, {
  ...env,
  WINDLASS_CONCURRENCY: String(jobsAtOnce),
});
const diskBytes = async (): Promise<number> => {
  // A file may vanish meanwhile.
  const { stdout } = await execa("du", ["-s", "--block-size=1", workDirectory], { reject: false });
  return Number.parseInt(stdout, 10);
};
try {
  const { url } = server;
  const zone = await call(url, "createZone", { body: { name: "bench" } }, { headers });
  const configurations: string[] = [];
  for (let at = 0; at < jobsAtOnce; at += 1) {
    const source = { type: "inline" as const, files };
    const body = { name: `providers-${at}`, zone_id: zone!.id, source };
    configurations.push((await call(url, "createConfiguration", { body }, { headers }))!.id);
  }
  const plan = async (configuration_id: string): Promise<void> => {
    const body = { job_type: "PLAN", configuration_id } as const;
    let job = await call(url, "createJob", { body }, { headers });
    while (job!.status === "QUEUED" || job!.status === "PROCESSING") {
      await pause(50);
      job = await call(url, "getJob", { params: { id: job!.id } }, { headers });
    }
    if (job!.status !== "SUCCESS") throw new Error(`${job!.status}: ${job!.error_message}`);
  };
  // Fills the agent's cache.
  await plan(configurations[0]!);
  const samples: { job: number; shell: number }[] = [];
  for (let round = 0; round < rounds; round += 1)
    samples.push({
      shell: sum(await initsOf(() => initInShell(`sh-${round}`, files))),
      job: sum(await initsOf(() => plan(configurations[0]!))),
    });
  const before = await diskBytes();
  let most = before;
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      most = Math.max(most, await diskBytes());
      await pause(100);
    }
  })();
  await Promise.all(configurations.map(plan));
  isOver = true;
  await watching;
  const of = (key: "job" | "shell") => median(samples.map((sample) => sample[key]));
  printTable("A provider of 600 MB that is cached", [
    {
      row: "19",
      what: `extra disk of ${jobsAtOnce} jobs at once, % of the provider`,
      value: ((most - before) / bytes) * 100,
      goal: 1,
      better: "smaller",
    },
    {
      row: "19",
      what: "`init` of a job / terraform's own with a filled plugin cache",
      value: median(samples.map(({ job, shell }) => job / shell)),
      goal: 1.1,
      better: "smaller",
      more: `${of("job").toFixed(0)} ms, terraform ${of("shell").toFixed(0)} ms`,
    },
  ]);
} finally {
  await stop(agent);
  await server.stop();
  rmSync(scratch, { recursive: true, force: true });
}
