/** Zones, configurations, identities and variable sets for screenshots and tests of all pages. */
import { approvalSteps } from "../people/approvals.ts";
import type { Calls } from "../plane/calls.ts";
import {
  addHeldJob,
  addTestWorker,
  ask,
  type Plane,
  readRows,
  setJob,
  setRows,
  stateHeaders,
} from "../plane/plane.ts";
import { emptySummary } from "../plane/plan-summaries.ts";
import { addJob, addRows } from "../plane/rows.ts";
import type { SampleUser } from "../plane/sample-data.ts";
import { addSampleChanges } from "./sample-changes.ts";
import { addSampleNotifications } from "./sample-notifications.ts";
import { addSampleSchedules } from "./sample-schedules.ts";
import { addMember, addTeamSpec, callsWithin } from "../people/teams.ts";

/** Creates them and returns name and path of each page. */
export async function addSamplePages(
  plane: Plane,
  fixture: SampleUser,
): Promise<Record<string, string>> {
  const { client } = fixture;
  const { id: finance } = await client.call("createZone", { body: { name: "finance" } });
  const { id: empty } = await client.call("createZone", { body: { name: "staging" } });
  const identity = await client.call("createCloudIdentity", {
    body: {
      name: "terraform-production",
      provider: "aws",
      role_arn: "arn:aws:iam::123456789012:role/terraform-production",
    },
  });
  const vault = await client.call("createCloudIdentity", {
    body: {
      name: "vault-production",
      provider: "vault",
      address: "https://vault.example.com:8200",
      role: "terraform-production",
      plan_role: "terraform-plan",
    },
  });
  const url = "https://git.example.com/platform/infrastructure.git";
  const { id } = await client.call("createConfiguration", {
    body: {
      name: "payments",
      zone_id: finance,
      cloud_identity_id: identity.id,
      source: { type: "git", url, ref: "main", path: "payments" },
      engine_version: "~> 1.14",
      labels: ["eu", "prod"],
      variables: {
        region: { value: "eu-central-1" },
        instance_types: { value: ["t3.small", "t3.medium"] },
        replicas: { value: 3 },
        db_password: { value: "not-to-be-seen", sensitive: true },
      },
      environment: { DATADOG_HOST: "https://api.datadoghq.eu" },
    },
  });
  const set = await client.call("createVariableSet", {
    body: {
      name: "shared by finance",
      variables: {
        region: { value: "eu-west-1" },
        owner_email: { value: "platform@example.com" },
        api_key: { value: "not-to-be-seen", sensitive: true },
      },
      environment: { HTTPS_PROXY: "http://proxy.example.com:3128" },
      zone_ids: [finance],
    },
  });
  await client.call("createVariableSet", {
    body: {
      name: "payments only",
      variables: { owner_email: { value: "payments@example.com" } },
      configuration_ids: [id],
    },
  });
  const bare = await client.call("createVariableSet", { body: { name: "empty" } });
  const { slug } = await client.call("createTeam", {
    body: { name: "Platform & Data", slug: "platform-data" },
  });
  for (const email of [null, "grace.hopper@research.example.com"])
    await client.call("createInvitation", {
      params: { slug },
      body: { role: "deployer", email },
    });
  const waiting = await addWaiting(plane, fixture, slug);
  await writeState(plane, fixture, id);
  await setRows(plane, "specs", { status: "FAILED", error_message: "runner lost" }, { id });
  await nameJobs(plane, id, "payments");
  const runs = await addRuns(plane, fixture);
  const fresh = await fixture.configure("fresh");
  await client.call("updateWorker", {
    params: { id: fixture.worker },
    body: { deploy_configuration: { configuration_id: fresh, targets: ["module.worker"] } },
  });
  for (const [name, role] of [
    ["nightly-check", "planner"],
    ["github-actions", "deployer"],
  ] as const) {
    const body = { name, role };
    const { access_token } = await client.call("createAccessToken", { body });
    if (role === "deployer")
      await ask(plane, "GET", "/api/cli/zones", {
        headers: { authorization: `Bearer ${access_token}` },
      });
  }
  await nameWorkers(plane, client);
  const changes = await addSampleChanges(plane, fixture, { spec: id, name: "payments" });
  const notifications = await addSampleNotifications(plane, fixture);
  const place = { zone: fixture.owner.zone, spec: runs };
  const schedules = await addSampleSchedules(plane, fixture, place);
  return {
    ...schedules,
    ...notifications,
    zones: "/zones",
    zone: `/zones/${fixture.owner.zone}`,
    "zone-with-sets": `/zones/${finance}`,
    "zone-empty": `/zones/${empty}`,
    "configuration-new": `/zones/${empty}/new`,
    configuration: `/configurations/${runs}`,
    "configuration-locked": `/configurations/${id}`,
    "configuration-jobs": `/configurations/${runs}/jobs`,
    "configuration-variables": `/configurations/${id}/variables`,
    "configuration-state": `/configurations/${id}/state`,
    "configuration-settings": `/configurations/${runs}/settings`,
    graph: `/configurations/${id}/graph`,
    "graph-closed": `/configurations/${id}/graph?modules=closed`,
    "configuration-fresh": `/configurations/${fresh}`,
    "configuration-edit": `/configurations/${id}/edit`,
    "configuration-edit-files": `/configurations/${fresh}/edit`,
    identities: "/identities",
    identity: `/identities/${identity.id}`,
    "identity of Vault": `/identities/${vault.id}`,
    "variable-sets": "/variable-sets",
    "variable-set": `/variable-sets/${set.id}`,
    "variable-set-empty": `/variable-sets/${bare.id}`,
    "configuration-followed": `/configurations/${id}/settings`,
    ...changes,
    "worker-edit": `/workers/${fixture.worker}/edit`,
    "deployment-waiting": `/jobs/${waiting.job}`,
    "deployment-own": `/jobs/${waiting.own}`,
    "configuration-with-rule": `/configurations/${waiting.spec}`,
    teams: "/teams",
    team: `/teams/${slug}`,
    "team-zones": `/zones?team=${slug}`,
  };
}

/** Gives rows of jobs the name of their configuration. */
async function nameJobs(plane: Plane, spec_id: string, name: string): Promise<void> {
  const config_snapshot = JSON.stringify({ name });
  for (const { id: job_id } of await readRows(plane, "jobs", { spec_id }))
    await setRows(plane, "job_snapshots", { config_snapshot }, { job_id });
}

/** Workers are made with one name. */
async function nameWorkers(plane: Plane, client: Calls): Promise<void> {
  const { workers } = await client.call("listWorkers");
  for (const [index, { id }] of workers.entries())
    await setRows(plane, "workers", { name: `runner-${workers.length - index}` }, { id });
}

/** Adds a configuration that is deployed, with many runs of different lengths and changes. */
async function addRuns(plane: Plane, fixture: SampleUser): Promise<string> {
  const spec = await fixture.configure("shop-api");
  const hour = 3_600_000;
  for (let run = 0; run < 27; run += 1) {
    const started = Date.now() - (28 - run) * 7 * hour;
    const isFailed = run % 11 === 7;
    const [create, update, replace] = [
      run % 7 === 0 ? 6 + run : 0,
      (run * 5) % 4,
      run % 9 === 4 ? 2 : 0,
    ];
    const { id: job_id } = await addJob(plane.context.store, fixture.owner, {
      spec_id: spec,
      job_type: run % 3 === 2 ? "PLAN" : "DEPLOY",
      created_by: fixture.email,
      status: isFailed ? "FAILED" : run === 12 ? "CANCELLED" : "SUCCESS",
      created_at: started - 2000,
      started_at: started,
      ended_at: started + 20_000 + ((run * 37) % 23) * 9000,
      released_at: started,
    });
    const counts = { ...emptySummary.counts, create, update, replace };
    const plan_summary = JSON.stringify({ ...emptySummary, counts });
    if (!isFailed) await addRows(plane.context.store, "plan_summaries", { job_id, plan_summary });
  }
  await writeState(plane, fixture, spec, undefined, "SUCCESS");
  await nameJobs(plane, spec, "shop-api");
  const text = (value: unknown, type = "string") => ({ type, value, sensitive: false });
  const outputs = {
    api_url: text("https://api.shop.example.com"),
    database_password: { type: "string", sensitive: true },
    node_pools: text({ spot: { size: 4, zones: ["a", "b"] }, base: { size: 2 } }, "object"),
    replicas: text(3, "number"),
  };
  const more = { execution_metadata: { outputs } };
  await fixture.run({ job_type: "DEPLOY", configuration_id: spec }, "SUCCESS", more);
  return spec;
}

/** Adds deployments of a team that wait: for the user, and the user's own for others. */
async function addWaiting(plane: Plane, { client, headers }: SampleUser, slug: string) {
  const { space, spec, worker, runner } = await addTeamSpec(plane, slug);
  await setRows(plane, "zones", { name: "edge" }, { id: space.zone });
  await setRows(plane, "specs", { name: "edge-proxy", project_name: "edge-proxy" }, { id: spec });
  await setRows(plane, "workers", { name: "edge-1" }, { id: worker.id });
  const grace = await addMember(plane, { client }, slug, "deployer");
  await setRows(plane, "users", { email: "grace@example.com" }, { id: grace.id });
  const mine = approvalSteps(plane, callsWithin(plane, headers, slug), runner, spec);
  const others = approvalSteps(plane, grace.calls, runner, spec);
  await mine.rule({ count: 2 });
  const job = await others.deploy(await others.plan({ create: 2, replace: 1 }));
  await (await addDecider(plane, client, slug, runner, spec)).approve(job, "Only the bastion.");
  const own = await mine.deploy(await mine.plan({ update: 1 }));
  return { spec, job: job.id, own: own.id };
}

/** Lets one more deployer join. */
async function addDecider(plane: Plane, client: Calls, slug: string, runner: Calls, spec: string) {
  const joan = await addMember(plane, { client }, slug, "deployer");
  await setRows(plane, "users", { email: "joan@example.com" }, { id: joan.id });
  return approvalSteps(plane, joan.calls, runner, spec);
}

/** Writes two versions of a state: by a job that was lost and left it locked, or by one that ended. */
export async function writeState(
  plane: Plane,
  fixture: SampleUser,
  spec: string,
  resources: object[] = sampleResources(),
  end: "lost" | "SUCCESS" = "lost",
): Promise<void> {
  const worker = await addTestWorker(plane, fixture.owner);
  const job = await addHeldJob(plane, fixture.owner, worker, {
    spec_id: spec,
    job_type: "DEPLOY",
    created_at: Date.now() - 60_000,
    claimed_at: Date.now() - 59_000,
    started_at: Date.now() - 58_000,
  });
  const headers = stateHeaders(plane, job);
  const send = async (method: string, query: string, json: object): Promise<void> => {
    const { status } = await ask(plane, method, `/api/state/${spec}${query}`, { headers, json });
    if (status !== 200) throw new Error(`${method} of the state returned ${status}`);
  };
  await send("LOCK", "", { ID: "a" });
  for (const serial of [1, 2])
    await send("POST", "?ID=a", {
      version: 4,
      serial,
      lineage: "lineage",
      outputs: {},
      resources: serial === 1 ? resources.slice(0, 1) : resources,
    });
  if (end === "SUCCESS") await send("UNLOCK", "", { ID: "a" });
  const ended = { ended_at: Date.now(), released_at: Date.now() };
  if (end === "SUCCESS") return setJob(plane, job, { status: end, ...ended });
  await setJob(plane, job, {
    status: "FAILED",
    error_message: "runner lost, outcome unknown",
    presumed_lost_at: Date.now(),
    outcome_unknown: 1,
    ...ended,
  });
}

/** Resources of a state, as terraform writes them: dependencies include the indirect ones. */
const sampleResources = () => [
  stateResource("aws_vpc.main"),
  stateResource("data.aws_ami.linux"),
  stateResource("module.network.aws_subnet.private", ["aws_vpc.main"], 3),
  stateResource("module.network.aws_route_table.private", ["aws_vpc.main"]),
  stateResource("module.network.module.firewall.aws_security_group.web", ["aws_vpc.main"]),
  stateResource("module.network.module.firewall.aws_security_group.db", [
    "aws_vpc.main",
    "module.network.module.firewall.aws_security_group.web",
  ]),
  stateResource(
    "aws_instance.web",
    [
      "aws_vpc.main",
      "data.aws_ami.linux",
      "module.network.aws_subnet.private",
      "module.network.module.firewall.aws_security_group.web",
    ],
    2,
  ),
  stateResource("module.database.aws_db_instance.main", [
    "aws_vpc.main",
    "module.network.aws_subnet.private",
    "module.network.module.firewall.aws_security_group.db",
    "module.network.module.firewall.aws_security_group.web",
  ]),
  stateResource("aws_s3_bucket.logs"),
];

/** A resource of a state; its instances have keys if there are several. */
export function stateResource(address: string, dependencies: string[] = [], instances = 1) {
  const parts = address.split(".");
  const [type, name] = parts.splice(-2);
  const mode = parts.at(-1) === "data" ? "data" : "managed";
  if (mode === "data") parts.pop();
  return {
    ...(parts.length === 0 ? {} : { module: parts.join(".") }),
    mode,
    type,
    name,
    provider: 'provider["registry.terraform.io/hashicorp/aws"]',
    instances: Array.from({ length: instances }, (_, index) => ({
      ...(instances === 1 ? {} : { index_key: index }),
      schema_version: 0,
      attributes: { id: `${address}-${index}` },
      dependencies,
    })),
  };
}
