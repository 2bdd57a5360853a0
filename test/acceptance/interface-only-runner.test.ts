/**
 * A runner of forty lines that uses only the published endpoints (docs/decisions.md, "Additive
 * interface"): plain HTTP, no `seq`, no `wait`, no attempt header, and terraform run in its own
 * way. Its jobs must succeed on our server.
 */
import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, it } from "vitest";
import { callsOf, type Calls } from "../helpers/plane/calls.ts";
import { clientHeaders } from "../helpers/plane/plane.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { addOwner, type Owner } from "../helpers/plane/rows.ts";
import { folderForFile } from "../helpers/machine/folders.ts";

const files = {
  "main.tf": `
    resource "terraform_data" "cluster" { input = "from-a-simple-runner" }
    output "cluster_name" { value = terraform_data.cluster.output }
    output "gitops_url" { value = "https://git.example.test/x" }`,
};
const { plane } = planeForFile();
let owner: Owner;
let client: Calls;
const directory = folderForFile();
beforeAll(async () => {
  owner = await addOwner(plane.context.store);
  client = callsOf(plane, await clientHeaders(plane, owner));
});

/** Sends one request as any HTTP client does. */
async function http(method: string, path: string, headers: Record<string, string>, body?: unknown) {
  const isBytes = body instanceof Uint8Array;
  return fetch(`${plane.url}${path}`, {
    method,
    headers: {
      ...headers,
      ...(body === undefined || isBytes ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: isBytes ? new Blob([body]) : JSON.stringify(body) }),
  });
}

/** Claims one job, runs it and returns its id. */
async function runOneJob(identity: { worker_id: string; worker_token: string }): Promise<string> {
  const headers = { "X-Worker-ID": identity.worker_id, "X-Worker-Token": identity.worker_token };
  expect((await http("POST", "/api/workers/heartbeat", headers, { version: "0.0.1" })).status).toBe(
    200,
  );
  const claimed = await http("POST", "/api/jobs/claim", headers);
  expect(claimed.status).toBe(200);
  const { job } = (await claimed.json()) as {
    job: {
      id: string;
      job_type: string;
      config_snapshot: { source: { files: Record<string, string> } };
    };
  };
  const path = `/api/jobs/${job.id}`;
  expect((await http("PUT", `${path}/status`, headers, { status: "PROCESSING" })).status).toBe(200);

  const folder = join(directory, job.id);
  for (const [name, text] of Object.entries(job.config_snapshot.source.files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  const terraform = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)("terraform", args, { cwd: folder });
    const log = { log_chunk: stdout, stream_type: "STDOUT" };
    expect((await http("POST", `${path}/logs`, headers, log)).status).toBe(201);
    return stdout;
  };
  await terraform("init", "-input=false", "-no-color");
  if (job.job_type === "PLAN") {
    await terraform("plan", "-input=false", "-no-color", "-out=tfplan");
    const plan = await http(
      "POST",
      `${path}/plan-artifact`,
      headers,
      await readFile(join(folder, "tfplan")),
    );
    expect(plan.status).toBe(201);
    expect((await http("PUT", `${path}/status`, headers, { status: "SUCCESS" })).status).toBe(200);
    return job.id;
  }
  const artifact = await http("GET", `${path}/plan-artifact`, headers);
  await writeFile(join(folder, "tfplan"), await artifact.bytes());
  await terraform("apply", "-input=false", "-no-color", "tfplan");
  const outputs = JSON.parse(await terraform("output", "-json")) as Record<
    string,
    { value: string }
  >;
  const execution_metadata = {
    cluster_name: outputs["cluster_name"]?.value,
    gitops_url: outputs["gitops_url"]?.value,
    outputs,
  };
  const end = { status: "SUCCESS", execution_metadata };
  expect((await http("PUT", `${path}/status`, headers, end)).status).toBe(200);
  return job.id;
}

it("a PLAN and its DEPLOY succeed on a runner that uses only the published endpoints", async () => {
  const register = await http("POST", "/api/workers/register", await clientHeaders(plane, owner), {
    name: "plain",
    mode: "self-hosted",
  });
  const identity = (await register.json()) as { worker_id: string; worker_token: string };
  const spec = await client.call("createConfiguration", {
    body: { name: "simple", zone_id: owner.zone, source: { type: "inline", files } },
  });
  const plan = await client.call("createJob", {
    body: { job_type: "PLAN", configuration_id: spec.id },
  });
  expect(await runOneJob(identity)).toBe(plan.id);
  const deploy = await client.call("createJob", {
    body: { job_type: "DEPLOY", configuration_id: spec.id, plan_job_id: plan.id },
  });
  expect(await runOneJob(identity)).toBe(deploy.id);

  expect(await client.call("getJob", { params: deploy })).toMatchObject({
    status: "SUCCESS",
    error_message: null,
  });
  expect(await client.call("getConfiguration", { params: { name: "simple" } })).toMatchObject({
    status: "DEPLOYED",
    cluster_name: "from-a-simple-runner",
    gitops_url: "https://git.example.test/x",
  });
  const { logs } = await client.call("getJobLogs", { params: deploy, query: {} });
  expect(logs.map(({ log_chunk }) => log_chunk).join("")).toContain(
    "Apply complete! Resources: 1 added",
  );
});
