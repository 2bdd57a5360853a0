/** A real agent and terraform with a control plane that has only the published endpoints. */
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { scratch, startAgent, until, type AgentProcess } from "../helpers/agent/agent-process.ts";
import { inlineSnapshot } from "../helpers/agent/fixtures.ts";
import {
  startInterfaceOnlyServer,
  type InterfaceOnlyServer,
  type PlainJob,
  ended,
} from "../helpers/agent/interface-only-server.ts";
import { folderForFile } from "../helpers/machine/folders.ts";
import { listen } from "../helpers/network/listen.ts";

let server: InterfaceOnlyServer;
let agent: AgentProcess;
const work = folderForFile();

const agentIn = (workDir: string) => startAgent({ ...server.settings, WINDLASS_WORK_DIR: workDir });
const run = (job: Parameters<InterfaceOnlyServer["enqueue"]>[0]) => ended(server.enqueue(job));
const statuses = (job: PlainJob) => job.reports.map(({ status }) => status);
const lastReport = (job: PlainJob) => job.reports.at(-1) ?? {};
const emptied = (path: string) =>
  until(() => ["jobs", "workspaces"].every((name) => readdirSync(join(path, name)).length === 0));

beforeAll(async () => {
  server = await startInterfaceOnlyServer();
});
beforeEach(() => {
  agent = agentIn(work);
});
afterEach(async () => {
  await agent[Symbol.asyncDispose]();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

describe("with a server that has only the published endpoints", () => {
  test("a configuration is planned, deployed with that plan, and destroyed", async () => {
    const snapshot = inlineSnapshot("success-cluster", {
      variables: { cluster_name: { value: "prod" } },
    });
    const plan = await run({ job_type: "PLAN", config_snapshot: snapshot });
    expect(statuses(plan)).toEqual(["PROCESSING", "SUCCESS"]);
    expect(server.log(plan, "STDOUT")).toContain("to add");
    expect(plan.artifact?.length).toBeGreaterThan(1000);

    const deploy = await run({ job_type: "DEPLOY", config_snapshot: snapshot, plan });
    expect(lastReport(deploy)).toMatchObject({
      status: "SUCCESS",
      execution_metadata: {
        cluster_name: "prod",
        cluster_endpoint: "https://prod.eu-central-1.eks.example.test",
        gitops_url: "https://git.example.test/platform/prod.git",
        outputs: {
          subnets: { sensitive: false, value: { a: "prod-a", b: "prod-b" } },
          kubeconfig_token: { sensitive: true, type: "string" },
        },
      },
    });
    expect(JSON.stringify(deploy.reports)).not.toContain("tok-");
    // It applied the given plan without planning again.
    expect(server.log(deploy, "STDOUT")).not.toContain("to add, 0 to change");
    expect(server.log(deploy, "STDOUT")).toContain("creating cluster prod");

    const destroy = await run({
      job_type: "DESTROY",
      config_snapshot: snapshot,
      spec_id: plan.spec_id,
    });
    expect(lastReport(destroy)).toMatchObject({ status: "SUCCESS" });
    expect(server.log(destroy, "STDOUT")).toContain("3 destroyed");
    await emptied(work);
  });

  test("a plan that reads files and scripts is applied by another agent in another directory", async () => {
    const snapshot = {
      working_directory: "live/eu",
      source: {
        type: "inline",
        files: {
          "live/eu/main.tf": `
            resource "terraform_data" "motd" {
              input = "\${file("\${path.module}/../../shared/motd.txt")} \${templatefile("greeting.tftpl", { who = "world" })}"
              provisioner "local-exec" { command = "\${path.module}/run.sh \${self.output}" }
            }
            output "cluster_name" { value = terraform_data.motd.output }`,
          "live/eu/greeting.tftpl": "hello ${who}",
          "live/eu/run.sh": '#!/bin/sh\necho "the script says: $*"\ncat ../../shared/motd.txt\n',
          "shared/motd.txt": "MOTD",
        },
      },
    };
    const plan = await run({ job_type: "PLAN", config_snapshot: snapshot });
    expect(lastReport(plan)).toMatchObject({ status: "SUCCESS" });
    agent.kill("SIGTERM");
    expect(await agent.exited).toBe(0);
    using elsewhere = scratch();
    await using other = agentIn(elsewhere.path);
    const deploy = await run({ job_type: "DEPLOY", config_snapshot: snapshot, plan });
    expect(lastReport(deploy)).toMatchObject({
      status: "SUCCESS",
      execution_metadata: { cluster_name: "MOTD hello world" },
    });
    expect(server.log(deploy, "STDOUT")).toContain("the script says: MOTD hello world");
    other.kill("SIGTERM");
    expect(await other.exited).toBe(0);
  });

  test("a failing plan has no artifact", async () => {
    const plan = await run({ job_type: "PLAN", config_snapshot: inlineSnapshot("fail-plan") });
    expect([lastReport(plan)["status"], plan.artifact]).toEqual(["FAILED", undefined]);
  });

  test("a state that terraform could not save is saved by the agent, or kept on the runner", async () => {
    const posts: string[] = [];
    let isBroken = true;
    const store = createServer((request, response) => {
      void text(request).then((body) => {
        if (request.method === "POST") posts.push(body);
        response.writeHead(request.method === "GET" ? 404 : isBroken ? 400 : 200).end();
        // Fails in the first job for the attempt of terraform only.
        if (request.method === "POST") isBroken = posts.length > 1;
      });
    });
    await using listening = await listen(store);
    const config_snapshot = {
      backend: "own",
      source: {
        type: "inline",
        files: {
          "main.tf": `
            terraform {
              backend "http" { address = "${listening.url}/state" }
            }
            resource "terraform_data" "made" {}`,
        },
      },
    };
    const saved = await run({ job_type: "DEPLOY", config_snapshot });
    expect(lastReport(saved)["error_message"]).toMatch(
      /^apply failed .*Failed to save state: .*; the state was saved after all$/,
    );
    expect(JSON.parse(posts.at(-1) ?? "")).toMatchObject({ resources: [{ name: "made" }] });

    const kept = await run({ job_type: "DEPLOY", config_snapshot });
    const [, path = ""] =
      /kept on the runner as (\S+)$/.exec(String(lastReport(kept)["error_message"])) ?? [];
    expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ resources: [{ name: "made" }] });
  });

  test("a sensitive value is masked in the log and in the error message", async () => {
    const secret = "correct-horse-battery";
    const config_snapshot = {
      variables: { password: { value: secret, sensitive: true } },
      source: {
        type: "inline",
        files: {
          "main.tf": `
            variable "password" {}
            resource "terraform_data" "x" {
              provisioner "local-exec" { command = "echo \${var.password}; exit 3" }
            }`,
        },
      },
    };
    const deploy = await run({ job_type: "DEPLOY", config_snapshot });
    expect(lastReport(deploy)["error_message"]).toMatch(/running command 'echo \*\*\*; exit 3'/);
    expect(server.log(deploy, "STDOUT")).toContain("***");
    expect(JSON.stringify([deploy.reports, deploy.logs])).not.toContain(secret);
  });

  test("a configuration that keeps its state in no backend is refused", async () => {
    const { source } = inlineSnapshot("success-cluster");
    const deploy = await run({ job_type: "DEPLOY", config_snapshot: { backend: "own", source } });
    expect(lastReport(deploy)["error_message"]).toContain(
      'has the backend "own" but declares none. Choose a backend: --backend managed',
    );
    expect(server.log(deploy, "STDOUT")).not.toContain("Plan:");
  });

  test("a job that asks for an unknown kind of credentials is FAILED and never run", async () => {
    const deploy = await run({
      job_type: "DEPLOY",
      config_snapshot: inlineSnapshot("success-cluster"),
      cloud_identity: { provider: "moon", role_arn: "arn:aws:iam::1:role/x", external_id: "y" },
    });
    expect(lastReport(deploy)).toMatchObject({
      status: "FAILED",
      error_message: expect.stringContaining(
        'this agent does not support the cloud provider "moon", only aws, aws_web_identity, azure, gcp, vault',
      ),
    });
    expect(server.log(deploy, "STDOUT")).toBe("");
  });

  test("a snapshot without a source is FAILED with an error that names the field", async () => {
    const plan = await run({ job_type: "PLAN", config_snapshot: {} });
    expect(lastReport(plan)).toMatchObject({
      status: "FAILED",
      error_message: expect.stringContaining("config_snapshot.source"),
    });
  });

  test("a changed source or artifact is refused before terraform runs", async () => {
    const snapshot = inlineSnapshot("success-cluster");
    const plan = await run({ job_type: "PLAN", config_snapshot: snapshot });
    const changed = inlineSnapshot("success-cluster", {});
    (changed as { source: { files: Record<string, string> } }).source.files["extra.tf"] = "# new";
    const other = await run({ job_type: "DEPLOY", config_snapshot: changed, plan });
    expect(lastReport(other)["error_message"]).toMatch(
      /^source: the files are not those of the plan/,
    );
    plan.artifact = Buffer.from("a raw plan file");
    const broken = await run({ job_type: "DEPLOY", config_snapshot: snapshot, plan });
    expect(lastReport(broken)["error_message"]).toMatch(/^artifact: the archive cannot be read/);
    expect(server.log(broken, "STDOUT")).toBe("");
  });

  test("heartbeats have the version, the isolation level and the held jobs", () => {
    expect(server.heartbeats.length).toBeGreaterThan(3);
    expect(server.heartbeats[0]).toMatchObject({
      version: "0.1.0",
      isolation: expect.stringMatching(/^(process|uid|bubblewrap)$/),
    });
    expect(
      server.heartbeats.some(({ active_job_ids }) => (active_job_ids as string[]).length > 0),
    ).toBe(true);
  });
});
