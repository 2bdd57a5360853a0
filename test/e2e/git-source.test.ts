/** A configuration in a private repository, with a private module beside it: real agent, real git, real TLS, real terraform. */
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { scratch, startAgent, until, type AgentProcess } from "../helpers/agent-process.ts";
import { makeCertificate } from "../helpers/certificate.ts";
import { startGitHost, type GitHost } from "../helpers/git-host.ts";
import {
  startInterfaceOnlyServer,
  type InterfaceOnlyServer,
  type PlainJob,
} from "../helpers/interface-only-server.ts";

const place = scratch();
const certificate = makeCertificate(place.path);
chmodSync(certificate.file, 0o644);
const token = "planted-token-4711";
let server: InterfaceOnlyServer;
let host: GitHost;
let agent: AgentProcess;

beforeAll(async () => {
  server = await startInterfaceOnlyServer();
  host = await startGitHost(certificate);
  host.password = `x-access-token:${token}`;
  agent = startAgent({
    WINDLASS_URL: server.url,
    WINDLASS_WORKER_ID: server.workerId,
    WINDLASS_WORKER_TOKEN: server.workerToken,
    WINDLASS_WORK_DIR: join(place.path, "agent"),
    WINDLASS_GIT_CREDENTIALS: `https://x-access-token:${token}@${host.host}`,
    SSL_CERT_FILE: certificate.file,
  });
});
afterAll(async () => {
  await agent[Symbol.asyncDispose]();
  await host[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  place[Symbol.dispose]();
});

const ended = (job: PlainJob) =>
  until(() => ["SUCCESS", "FAILED", "CANCELLED"].includes(job.status) && job);

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

test("the commit that was planned is deployed though the branch moves on; the token opens the module too and is seen nowhere", async () => {
  host.commit("team/module", { "main.tf": 'output "word" {\n  value = "shared"\n}\n' });
  const first = host.commit("team/app", { "stack/main.tf": configuration("first") });
  const config_snapshot = {
    source: { type: "git", url: `https://${host.host}/team/app`, ref: "main", path: "stack" },
  };
  const plan = await ended(server.enqueue({ job_type: "PLAN", config_snapshot }));
  expect(plan.reports.at(-1)).toMatchObject({ status: "SUCCESS" });
  const second = host.commit("team/app", { "stack/main.tf": configuration("second") });
  expect(second).not.toBe(first);
  const deploy = await ended(server.enqueue({ job_type: "DEPLOY", config_snapshot, plan }));
  expect(deploy.reports.at(-1)).toMatchObject({
    status: "SUCCESS",
    execution_metadata: { outputs: { it: { value: "first shared" } } },
  });
  const fresh = await ended(
    server.enqueue({ job_type: "DEPLOY", config_snapshot, spec_id: crypto.randomUUID() }),
  );
  expect(fresh.reports.at(-1)).toMatchObject({
    execution_metadata: { outputs: { it: { value: "second shared" } } },
  });

  const said = JSON.stringify([plan, deploy, fresh]) + agent.log();
  expect(said).toContain("environment follows");
  expect(said).toContain("TF_IN_AUTOMATION");
  for (const secret of [
    "GIT_CONFIG",
    token,
    Buffer.from(`x-access-token:${token}`).toString("base64"),
  ])
    expect([secret, said.includes(secret)]).toEqual([secret, false]);
  expect(
    host.requests.filter(({ path }) => path.startsWith("/team/module")).length,
  ).toBeGreaterThan(2);
});
