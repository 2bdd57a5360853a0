/** Zones, configurations and identities for screenshots and tests of all pages. */
import { endpoints } from "../../protocol/endpoints.ts";
import { addHeldJob, addTestWorker, ask, type Plane, setJob, stateHeaders } from "./plane.ts";
import type { SampleUser } from "./sample-data.ts";

/** Creates them and returns name and path of each page. */
export async function fillPlaces(
  plane: Plane,
  fixture: SampleUser,
): Promise<Record<string, string>> {
  const { person } = fixture;
  const { id: empty } = await person.get(endpoints.createZone, { body: { name: "staging" } });
  const identity = await person.get(endpoints.createCloudIdentity, {
    body: {
      name: "terraform-production",
      provider: "aws",
      role_arn: "arn:aws:iam::123456789012:role/terraform-production",
    },
  });
  const url = "https://git.example.com/platform/infrastructure.git";
  const { id } = await person.get(endpoints.createConfiguration, {
    body: {
      name: "payments",
      zone_id: fixture.owner.zone,
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
  await writeState(plane, fixture, id);
  const fresh = await fixture.configure("fresh");
  await person.get(endpoints.updateWorker, {
    params: { id: fixture.worker },
    body: { deploy_configuration: { configuration_id: fresh, targets: ["module.worker"] } },
  });
  return {
    zones: "/zones",
    zone: `/zones/${fixture.owner.zone}`,
    "zone-empty": `/zones/${empty}`,
    "configuration-new": `/zones/${empty}/new`,
    configuration: `/configurations/${id}`,
    "configuration-fresh": `/configurations/${fresh}`,
    "configuration-edit": `/configurations/${id}/edit`,
    "configuration-edit-files": `/configurations/${fresh}/edit`,
    identities: "/identities",
    identity: `/identities/${identity.id}`,
    "worker-edit": `/workers/${fixture.worker}/edit`,
  };
}

/** Writes two versions of a state, by a job that was lost and left it locked. */
export async function writeState(plane: Plane, fixture: SampleUser, spec: string): Promise<void> {
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
  const resource = { mode: "managed", type: "aws_instance", name: "web", instances: [{}] };
  for (const serial of [1, 2])
    await send("POST", "?ID=a", {
      version: 4,
      serial,
      lineage: "lineage",
      outputs: {},
      resources: Array.from({ length: serial }, () => resource),
    });
  await setJob(plane, job, {
    status: "FAILED",
    error_message: "runner lost, outcome unknown",
    presumed_lost_at: Date.now(),
    outcome_unknown: 1,
    ended_at: Date.now(),
    released_at: Date.now(),
  });
}
