/**
 * A control plane with data of every kind, created through its API, for screenshots and tests of
 * all pages.
 */
import type { CreateJob, Job, LogResource, LogStep } from "../../../protocol/jobs.ts";
import type { PlanSummary } from "../../../protocol/plan-summary.ts";
import { callsOf } from "./calls.ts";
import { addTestWorker, ask, type Plane } from "./plane.ts";
import type { Owner } from "./rows.ts";
import { bearer, openPerson, type Person } from "../people/sign-in.ts";

/** The settings of a control plane that shows everything. */
export const sampleSettings = {
  // Its worker sends one heartbeat only.
  WINDLASS_OFFLINE_SECONDS: "3600",
  WINDLASS_OPERATORS: "ada@example.com",
  RELEASE_API_SECRET: "the-secret-of-the-pipeline-of-these-scenes",
  ...Object.fromEntries(
    ["GITHUB", "GITLAB", "BITBUCKET", "GOOGLE"].flatMap((name) => [
      [`${name}_CLIENT_ID`, "client"],
      [`${name}_CLIENT_SECRET`, "client-secret"],
    ]),
  ),
};

/** A person with a zone, and a runner of that person that the test plays. */
export interface SampleUser extends Person {
  readonly owner: Owner;
  readonly worker: string;
  configure(name: string): Promise<string>;
  queue(job: CreateJob): Promise<Job>;
  /** Claims the oldest job and starts it. */
  start(): Promise<string>;
  /** Queues a job, which must be the oldest, and starts it. */
  begin(job: CreateJob): Promise<string>;
  /** Queues, starts and ends a job. */
  run(job: CreateJob, ...end: EndOfJob): Promise<string>;
  log(job: string, text: string, stream?: "STDOUT" | "STDERR" | "SYSTEM"): Promise<void>;
  /**
   * Starts or ends a step of the job, `second` seconds after a fixed time by the runner's clock.
   */
  step(job: string, name: string, event: LogStep["event"], second?: number): Promise<void>;
  /**
   * Logs the start, end or failure of a change, `second` seconds after a fixed time by the runner's
   * clock.
   */
  resource(job: string, resource: Omit<LogResource, "at">, second?: number): Promise<void>;
  /** Logs many of them at once. */
  resources(job: string, resources: readonly LogResource[]): Promise<void>;
  end(job: string, ...end: EndOfJob): Promise<void>;
  read(job: string): Promise<Job>;
}

type EndOfJob = [status: "SUCCESS" | "FAILED" | "CANCELLED", more?: object];

/** Creates the user and the runner. */
export async function openSampleUser(plane: Plane, email?: string): Promise<SampleUser> {
  const person = await openPerson(plane, email);
  const { client } = person;
  const zone = await client.call("createZone", { body: { name: "production" } });
  const owner = { id: person.id, zone: zone.id };
  const { headers: worker, id: workerId } = await addTestWorker(plane, owner);
  const runner = callsOf(plane, worker);
  await runner.call("heartbeat", {
    query: {},
    body: {
      version: "0.1.0",
      hostname: "runner-1.internal",
      os: "linux",
      arch: "x64",
      capacity: 2,
      features: ["plan_options"],
    },
  });
  const report = (id: string, body: object) =>
    runner.call("reportStatus", { params: { id }, body: body as never });
  const user: SampleUser = {
    ...person,
    owner,
    worker: workerId,
    configure: async (name) => {
      const source = { type: "inline", files: { "main.tf": "" } } as const;
      const body = { name, zone_id: zone.id, source };
      return (await client.call("createConfiguration", { body })).id;
    },
    queue: (body) => client.call("createJob", { body }),
    start: async () => {
      const { job } = await runner.call("claimJob");
      await report(job.id, { status: "PROCESSING" });
      return job.id;
    },
    begin: async (body) => {
      await user.queue(body);
      return user.start();
    },
    run: async (body, ...end) => {
      const id = await user.begin(body);
      await user.end(id, ...end);
      return id;
    },
    log: async (id, log_chunk, stream_type = "STDOUT") => {
      const body = { log_chunk, stream_type };
      await runner.call("appendLogs", { params: { id }, body });
    },
    step: async (id, name, event, second = 0) => {
      const at = new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString();
      const log_chunk = event === "started" ? `terraform 1.11.4: ${name}\n` : "";
      const body = { log_chunk, stream_type: "SYSTEM" as const, step: { name, event, at } };
      await runner.call("appendLogs", { params: { id }, body });
    },
    resource: async (id, { address, action, event }, second = 0) => {
      const at = new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString();
      const resource = { address, action, event, at };
      const isFailed = event === "failed";
      const log_chunk = isFailed
        ? `╷\n│ Error: creating\n│ \n│   with ${address},\n╵\n`
        : `${address}: ${event === "started" ? "Creating..." : "Creation complete after 1s"}\n`;
      const stream_type = isFailed ? ("STDERR" as const) : ("STDOUT" as const);
      const body = { log_chunk, stream_type, resource };
      await runner.call("appendLogs", { params: { id }, body });
    },
    resources: async (id, resources) => {
      const chunk = { log_chunk: "a line\n", stream_type: "STDOUT" as const };
      const chunks = resources.map((resource, index) => ({ ...chunk, resource, seq: index + 1 }));
      for (let at = 0; at < chunks.length; at += 200) {
        const body = { chunks: chunks.slice(at, at + 200) };
        await runner.call("appendLogs", { params: { id }, body });
      }
    },
    end: async (id, status, more = {}) => {
      if (status === "SUCCESS" && "plan_summary" in more)
        await ask(plane, "POST", `/api/jobs/${id}/plan-artifact`, {
          headers: { ...worker, "content-type": "application/gzip" },
          body: Buffer.from("plan"),
        });
      await report(id, { status, ...more });
    },
    read: (id) => client.call("getJob", { params: { id } }),
  };
  return user;
}

/** Lines that a plan does not change. */
const yaml =
  "tolerations:\n  - key: spot\n    operator: Exists\n  - key: gpu\n    operator: Exists\nservice:\n  port: 8080\n  type: ClusterIP\nprobes: true\n";

/** A plan summary with every kind of change. */
const richPlan: PlanSummary = {
  counts: { create: 3, update: 2, replace: 1, delete: 1, forget: 0, move: 1, import: 0 },
  changes: [
    { address: "aws_instance.old", action: "delete", reason: "delete_because_no_resource_config" },
    {
      address: 'module.db.aws_db_instance.main["eu"]',
      action: "replace",
      reason: "replace_because_cannot_update",
      replaced_by: ["engine_version", "storage.0.type"],
      attributes: [
        { path: "engine_version", before: "15.4", after: "16.1" },
        { path: "id", before: "db-0f1a2b3c", unknown: true },
        { path: "password", sensitive: true },
        { path: "storage[0].type", before: "gp2", after: "gp3" },
      ],
    },
    {
      address: "aws_security_group.web",
      action: "update",
      attributes: [
        {
          path: "ingress[0].cidr_blocks",
          before: ["10.0.0.0/8"],
          after: ["10.0.0.0/8", "192.168.0.0/16"],
        },
        { path: "ingress[1].from_port", before: 80, after: 443 },
        { path: "tags.Owner", before: "ada", after: null },
        {
          path: "user_data",
          before: null,
          after: `#!/bin/sh\n${"echo a long script of many lines that is folded on the page\n".repeat(8)}`,
        },
      ],
    },
    {
      address: "aws_instance.web[0]",
      action: "create",
      attributes: [
        { path: "ami", after: "ami-0abcdef" },
        { path: "arn", unknown: true },
        { path: "instance_type", after: "t3.small" },
      ],
    },
    {
      address: 'module.cluster.module.nodes["spot"].helm_release.scaler',
      action: "update",
      attributes: [
        {
          path: "values[0]",
          before: `replicas: 2\nimage:\n  repository: scaler\n  tag: v1.4.0\n${yaml}limits:\n  cpu: 200m\n`,
          after: `replicas: 2\nimage:\n  repository: scaler\n  tag: v1.5.2\n${yaml}limits:\n  cpu: 500m\n  memory: 256Mi\n`,
        },
        { path: "version", before: "1.4.0", after: "1.5.2" },
      ],
    },
    {
      address: "module.cluster.aws_iam_policy.nodes",
      action: "create",
      attributes: [
        { path: "name", after: "nodes" },
        {
          path: "policy",
          after:
            '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["ec2:Describe*","eks:Describe*"],"Resource":"*"}]}',
        },
      ],
    },
    { address: "aws_instance.web[1]", action: "create" },
    { address: "aws_s3_bucket.logs", action: "none", previous_address: "aws_s3_bucket.log" },
  ],
  changes_omitted: 0,
  drift: [{ address: "aws_route53_record.www", action: "update" }],
  drift_omitted: 0,
  outputs: [
    {
      name: "cluster_endpoint",
      action: "update",
      sensitive: false,
      attributes: [
        { path: "", before: "https://eu-1.example.com", after: "https://eu-2.example.com" },
      ],
    },
    {
      name: "node_pools",
      action: "update",
      sensitive: false,
      attributes: [
        { path: "spot.size", before: 2, after: 4 },
        { path: "spot.id", before: "np-0f1a", unknown: true },
      ],
    },
    { name: "admin_password", action: "create", sensitive: true },
  ],
  outputs_omitted: 0,
  checks: [{ address: "check.health", status: "unknown" }],
  graph: [
    {
      address: "module.db.aws_db_instance.main",
      needs: ["aws_s3_bucket.logs", "aws_security_group.web"],
    },
    { address: "aws_instance.web", needs: ["aws_security_group.web"] },
  ],
  applyable: true,
  complete: true,
};

/** Terraform's output with its colours. */
const planLog = [
  "\u001b[0m\u001b[1mTerraform will perform the following actions:\u001b[0m",
  "",
  "\u001b[1m  # aws_instance.web[0]\u001b[0m will be created",
  '\u001b[0m  \u001b[32m+\u001b[0m resource "aws_instance" "web" {',
  '      \u001b[32m+\u001b[0m ami           = "ami-0abcdef"',
  '      \u001b[33m~\u001b[0m instance_type = "t3.micro" \u001b[33m->\u001b[0m "t3.small"',
  "    }",
  "",
  "\u001b[1mPlan:\u001b[0m 2 to add, 1 to change, 2 to destroy.",
  "",
].join("\n");

/** The steps of an apply and what they print. */
const applySteps = [
  ["workspace", ""],
  ["source", "files of the configuration\n"],
  ["init", "Initializing the backend...\nInitializing provider plugins...\n".repeat(6)],
  ["apply", `${planLog}Apply complete! Resources: 3 added.\n`],
  ["outputs", 'cluster_endpoint = "https://shop.example.com"\n'],
] as const;

/** Adds jobs of every kind and returns those with a page worth showing. */
export async function addSampleJobs(
  plane: Plane,
  fixture: SampleUser,
): Promise<Record<string, string>> {
  const pipeline = callsOf(plane, bearer(sampleSettings.RELEASE_API_SECRET));
  await pipeline.call("publishRelease", { body: { version: "0.2.0" } });
  const [network, cluster, shop] = await Promise.all(
    ["network", "cluster-eu", "shop frontend"].map((name) => fixture.configure(name)),
  );
  const run = (job_type: CreateJob["job_type"], configuration_id = "") =>
    fixture.begin({ job_type, configuration_id });
  const failed = await run("DEPLOY", network);
  await fixture.step(failed, "init", "started");
  await fixture.log(failed, "Initializing the backend...\nTerraform has been initialized.\n");
  await fixture.step(failed, "init", "ended", 3);
  await fixture.step(failed, "apply", "started", 3);
  await fixture.log(failed, planLog);
  const deep = 'module.network.module.subnets["eu-central-1a"].aws_subnet.private[0]';
  for (const [address, action, event, second] of [
    ["aws_vpc.main", "create", "started", 0],
    [deep, "update", "started", 2],
    ["aws_vpc.main", "create", "ended", 7],
    ["aws_instance.bastion", "delete", "started", 7],
    [deep, "update", "ended", 9],
    ["aws_eip.bastion", "delete", "started", 9],
    ["aws_instance.bastion", "delete", "ended", 20],
    ["aws_instance.bastion", "create", "started", 20],
    ["data.aws_ami.linux", "read", "started", 20],
    ["data.aws_ami.linux", "read", "ended", 21],
    ["aws_instance.bastion", "create", "failed", 31],
  ] as const)
    await fixture.resource(failed, { address, action, event }, second);
  const message = "Error: creating EC2 Instance: UnauthorizedOperation";
  await fixture.log(failed, `\u001b[31m╷\n│ ${message}\n╵\u001b[0m\n`, "STDERR");
  await fixture.end(failed, "FAILED", { error_message: message });
  const deployed = await run("DEPLOY", shop);
  for (const [index, [name, text]] of applySteps.entries()) {
    await fixture.step(deployed, name, "started", 4 * index);
    await fixture.log(deployed, text);
    await fixture.step(deployed, name, "ended", 4 * index + 0.4 + 3 * (index % 2));
  }
  const outputs = {
    cluster_endpoint: { type: "string", value: "https://shop.example.com", sensitive: false },
    admin_password: { type: "string", sensitive: true },
  };
  await fixture.end(deployed, "SUCCESS", { execution_metadata: { outputs } });
  const plan = await run("PLAN", cluster);
  await fixture.log(plan, planLog);
  await fixture.end(plan, "SUCCESS", { plan_summary: richPlan });
  const running = await run("DEPLOY", network);
  await fixture.step(running, "apply", "started");
  await fixture.log(running, "aws_instance.web[0]: Still creating... [10s elapsed]\n");
  const { id: waiting } = await fixture.queue({
    job_type: "PLAN",
    configuration_id: network ?? "",
  });
  return { failed, deployed, plan, running, waiting };
}
