/** A configuration and a module in private repositories, with a real agent and git. */
import { chmodSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startAgent, type AgentProcess } from "../helpers/agent/agent-process.ts";
import { makeCertificate } from "../helpers/network/certificate.ts";
import {
  backendWithProgram,
  emptyBucket,
  type EmptyBucket,
} from "../helpers/store/empty-bucket.ts";
import { startGitHost, type GitHost } from "../helpers/agent/git-host.ts";
import {
  startInterfaceOnlyServer,
  type InterfaceOnlyServer,
  ended,
} from "../helpers/agent/interface-only-server.ts";
import { folderForFile } from "../helpers/machine/folders.ts";

const place = folderForFile();
const certificate = makeCertificate(place);
chmodSync(certificate.file, 0o644);
const token = "planted-token-4711";
let server: InterfaceOnlyServer;
let host: GitHost;
let agent: AgentProcess;
let bucket: EmptyBucket;

beforeAll(async () => {
  server = await startInterfaceOnlyServer();
  host = await startGitHost(certificate);
  host.password = `x-access-token:${token}`;
  host.open = "/guests/";
  bucket = await emptyBucket();
  agent = startAgent({
    ...server.settings,
    WINDLASS_WORK_DIR: join(place, "agent"),
    WINDLASS_GIT_CREDENTIALS: `https://x-access-token:${token}@${host.host}/team`,
    SSL_CERT_FILE: certificate.file,
    WINDLASS_SOURCE_MIB: "8",
  });
});
afterAll(async () => {
  await agent[Symbol.asyncDispose]();
  await host[Symbol.asyncDispose]();
  await bucket.close();
  await server[Symbol.asyncDispose]();
});

const run = (job: Parameters<InterfaceOnlyServer["enqueue"]>[0]) => ended(server.enqueue(job));

const configuration = (which: string) => `
module "shared" {
  source = "git::https://${host.host}/team/module"
}
resource "terraform_data" "it" {
  input = "${which} \${module.shared.word}"
  provisioner "local-exec" {
    command = "echo environment follows; env"
  }
}
output "it" {
  value = terraform_data.it.output
}
`;

test("the planned commit is deployed after the branch has moved, and the token is used for modules but never printed", async () => {
  host.commit("team/module", { "main.tf": 'output "word" {\n  value = "shared"\n}\n' });
  const first = host.commit("team/app", { "stack/main.tf": configuration("first") });
  const config_snapshot = {
    source: { type: "git", url: `https://${host.host}/team/app`, ref: "main", path: "stack" },
  };
  const plan = await run({ job_type: "PLAN", config_snapshot });
  expect(plan.reports.at(-1)).toMatchObject({
    status: "SUCCESS",
    execution_metadata: { source_commit: first },
  });
  const second = host.commit("team/app", { "stack/main.tf": configuration("second") });
  expect(second).not.toBe(first);
  const deploy = await run({ job_type: "DEPLOY", config_snapshot, plan });
  expect(deploy.reports.at(-1)).toMatchObject({
    status: "SUCCESS",
    execution_metadata: { outputs: { it: { value: "first shared" } }, source_commit: first },
  });
  const fresh = await run({ job_type: "DEPLOY", config_snapshot, spec_id: crypto.randomUUID() });
  expect(fresh.reports.at(-1)).toMatchObject({
    execution_metadata: { outputs: { it: { value: "second shared" } }, source_commit: second },
  });

  const output = JSON.stringify([plan, deploy, fresh]) + agent.log();
  expect(output).toContain("environment follows");
  expect(output).toContain("TF_IN_AUTOMATION");
  for (const secret of [
    "GIT_CONFIG",
    token,
    Buffer.from(`x-access-token:${token}`).toString("base64"),
  ])
    expect([secret, output.includes(secret)]).toEqual([secret, false]);
  expect(
    host.requests.filter(({ path }) => path.startsWith("/team/module")).length,
  ).toBeGreaterThan(2);
});

test("a configuration outside the token's path is fetched without it, and so are its modules", async () => {
  host.commit("team/module", { "main.tf": 'output "word" {\n  value = "shared"\n}\n' });
  host.commit("guests/app", { "main.tf": configuration("guest") });
  const source = { type: "git", url: `https://${host.host}/guests/app` };
  const before = host.requests.length;
  const job = await run({ job_type: "PLAN", config_snapshot: { source } });
  expect(job.reports.at(-1)).toMatchObject({
    status: "FAILED",
    error_message: expect.stringContaining("init failed"),
  });
  const asked = host.requests.slice(before);
  expect(asked.some(({ path }) => path.startsWith("/team/module"))).toBe(true);
  expect(asked.filter(({ authorization }) => authorization !== undefined)).toEqual([]);
});

test("a module outside the token's path is fetched without it", async () => {
  host.commit("guests/module", { "main.tf": 'output "word" {\n  value = "open"\n}\n' });
  const main = configuration("mixed").replace("team/module", "guests/module");
  host.commit("team/mixed", { "main.tf": main });
  const source = { type: "git", url: `https://${host.host}/team/mixed` };
  const before = host.requests.length;
  const job = await run({ job_type: "PLAN", config_snapshot: { source } });
  expect(job.reports.at(-1)).toMatchObject({ status: "SUCCESS" });
  const asked = host.requests.slice(before).filter(({ path }) => path.startsWith("/guests/"));
  expect(asked.length).toBeGreaterThan(0);
  expect(asked.filter(({ authorization }) => authorization !== undefined)).toEqual([]);
});

test("a module over the size limit fails the job, and the error names the setting", async () => {
  const word = 'output "word" {\n  value = "open"\n}\n';
  host.commit("guests/heavy", { "main.tf": word, "a.bin": randomBytes(8 * 1024 ** 2) });
  const main = configuration("heavy").replace("team/module", "guests/heavy");
  host.commit("team/heavy", { "main.tf": main });
  const source = { type: "git", url: `https://${host.host}/team/heavy` };
  const job = await run({ job_type: "PLAN", config_snapshot: { source } });
  const message =
    /^modules: the fetched files take \d+ MiB on the disk, more than the limit of 8 MiB: .*WINDLASS_SOURCE_MIB/;
  expect(job.reports.at(-1)).toMatchObject({
    status: "FAILED",
    error_message: expect.stringMatching(message),
  });
});

test("a program that init runs cannot read the token", async () => {
  host.commit("team/module", { "main.tf": 'output "word" {\n  value = "shared"\n}\n' });
  host.commit("team/curious", {
    "main.tf": `
module "shared" {
  source = "git::https://${host.host}/team/module"
}
output "seen" {
  value = file("seen")
}
`,
    ...backendWithProgram(bucket.url, "env > seen; cat /proc/*/environ >> seen 2>/dev/null"),
  });
  const source = { type: "git", url: `https://${host.host}/team/curious` };
  const job = await run({ job_type: "DEPLOY", config_snapshot: { source } });
  // The bucket stores nothing, so the apply fails. The plan has the output of the program.
  const log = server.log(job, "STDOUT");
  expect(log).toContain("TF_IN_AUTOMATION");
  expect(log).not.toContain("GIT_CONFIG_COUNT");
  expect(log).not.toContain(Buffer.from(`x-access-token:${token}`).toString("base64"));
});

test("a pull request is merged and planned with the credentials of its claim, and its plan is not deployed", async () => {
  const name = "private/app";
  const module = (word: string) => `output "word" {\n  value = "${word}"\n}\n`;
  const main = `module "inner" {\n  source = "./inner"\n}
variable "size" {}
resource "terraform_data" "it" {\n  input = "\${module.inner.word} \${abspath(path.module)}"\n}\n`;
  host.commit(name, { "main.tf": main, "inner/main.tf": module("old") });
  host.git(name, "checkout", "--quiet", "-b", "topic");
  const head = host.commit(name, { "main.tf": `${main}output "head" {\n  value = "head"\n}\n` });
  host.git(name, "checkout", "--quiet", "main");
  const base = host.commit(name, { "inner/main.tf": module("new") });
  const source = { type: "git", url: `https://${host.host}/${name}` };
  const claimed = {
    source_access: { username: "x-access-token", token, expires_at: null },
    plan_digest_key: "07".repeat(32),
  };
  const pull = {
    job_type: "PLAN",
    config_snapshot: { source: { ...source, ref: head }, variables: { size: { value: 1 } } },
    more: { ...claimed, merge: { base_branch: "main", base_commit: base } },
  };
  const job = await run(pull);
  const report = job.reports.at(-1);
  const merged = { base_commit: base, head_commit: head };
  expect(report).toMatchObject({
    status: "SUCCESS",
    execution_metadata: { source_commit: head, merged },
    plan_summary: {
      has_unknown: true,
      has_provisioners: false,
      local_modules: ["inner"],
    },
  });
  expect(JSON.stringify(report)).toMatch(/"new \/[^"]*\/source"/);
  expect(server.log(job, "SYSTEM")).toContain(
    `Merged the pull request's head ${head} into main (${base})`,
  );
  const deploy = await run({ ...pull, job_type: "DEPLOY", plan: job });
  expect(deploy.reports.at(-1)).toMatchObject({
    status: "FAILED",
    error_message: expect.stringContaining("it was made of a pull request") as string,
  });

  host.git(name, "merge", "--quiet", "--no-edit", "topic");
  const after = await run({
    ...pull,
    config_snapshot: { ...pull.config_snapshot, source: { ...source, ref: "main" } },
    more: claimed,
  });
  const digests = [job, after].map(({ reports }) => {
    const { digest, source_digest } = reports.at(-1)!["plan_summary"] as Record<string, string>;
    return { digest, source_digest };
  });
  const sha256 = expect.stringMatching(/^[0-9a-f]{64}$/) as string;
  expect(digests[0]).toEqual({ digest: sha256, source_digest: sha256 });
  expect(digests[1]).toEqual(digests[0]);

  const withheld = await run({
    ...pull,
    config_snapshot: { ...pull.config_snapshot, variables: {} },
    more: { ...pull.more, withheld: ["size"] },
  });
  expect(withheld.reports.at(-1)).toMatchObject({
    failure: { kind: "values_withheld", variables: ["size"] },
    execution_metadata: { merged },
  });
});
