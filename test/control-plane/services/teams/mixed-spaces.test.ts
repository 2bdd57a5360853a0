/** A person with several spaces cannot mix what is in them. */
import { describe, expect } from "vitest";
import { addHeldJob, ask, type Plane } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addArtifact } from "../../../helpers/plane/rows.ts";
import { dump } from "../../../helpers/store/store-dump.ts";
import { addTeam, addTeamSpec } from "../../../helpers/people/teams.ts";
import { addTestUser, type TestUser } from "../../../helpers/people/user.ts";

const { plane, it } = planeForFile();

/** A team of a user with one of everything that another thing can refer to. */
async function addThings(on: Plane, user: TestUser) {
  const { slug, calls } = await addTeam(on, user);
  const { space, spec, worker } = await addTeamSpec(on, slug);
  const identity = await calls.call("createCloudIdentity", {
    body: { name: "i", provider: "aws", role_arn: "arn:aws:iam::123456789012:role/i" },
  });
  const set = await calls.call("createVariableSet", { body: { name: "s" } });
  const over = { status: "SUCCESS", ended_at: 2, released_at: 2, spec_id: spec } as const;
  const plan = await addHeldJob(on, space, worker, over);
  await addArtifact(on.context.store, plan.id);
  const uploaded = await ask(on, "POST", "/api/cli/archives", {
    headers: { ...user.headers, "windlass-team": slug, "content-type": "application/gzip" },
    body: Buffer.concat([Buffer.of(0x1f, 0x8b), Buffer.from(slug)]),
  });
  const sha256 = String(uploaded.json()["sha256"]);
  return {
    slug,
    calls,
    zone: space.zone,
    spec,
    worker: worker.id,
    identity: identity.id,
    set: set.id,
    plan: plan.id,
    sha256,
  };
}
type Things = Awaited<ReturnType<typeof addThings>>;

/** Requests about one team's things that name one of another team's. */
const mixing = (own: Things, other: Things): [method: string, path: string, body?: object][] => {
  const plan = { job_type: "PLAN", configuration_id: own.spec };
  const archive = { type: "archive", sha256: other.sha256 };
  const inline = { type: "inline", files: { "main.tf": "" } };
  const configuration = { name: "new", zone_id: own.zone, source: inline };
  return [
    ["POST", "/api/jobs", { ...plan, assigned_worker_id: other.worker }],
    ["POST", "/api/jobs", { ...plan, source: archive }],
    ["POST", "/api/jobs", { ...plan, job_type: "DEPLOY", plan_job_id: other.plan }],
    ["POST", "/api/cli/configurations", { ...configuration, cloud_identity_id: other.identity }],
    ["POST", "/api/cli/configurations", { ...configuration, source: archive }],
    ["PATCH", `/api/cli/configurations/${own.spec}`, { zone_id: other.zone }],
    ["PATCH", `/api/cli/configurations/${own.spec}`, { cloud_identity_id: other.identity }],
    ["PATCH", `/api/cli/configurations/${own.spec}`, { source: archive }],
    ["PATCH", `/api/cli/variable-sets/${own.set}`, { zone_ids: [other.zone] }],
    ["PATCH", `/api/cli/variable-sets/${own.set}`, { configuration_ids: [other.spec] }],
    ["PUT", `/api/cli/variable-sets/${own.set}/zones/${other.zone}`],
    ["PUT", `/api/cli/variable-sets/${own.set}/configurations/${other.spec}`],
    [
      "PATCH",
      `/api/cli/workers/${own.worker}`,
      { deploy_configuration: { configuration_id: other.spec, all: true } },
    ],
  ];
};

describe("an admin of two teams", () => {
  it("cannot refer from a thing of one to a thing of the other, whatever the header says", async () => {
    const user = await addTestUser(plane);
    const [own, other] = [await addThings(plane, user), await addThings(plane, user)];
    const before = await dump(plane);
    const accepted: string[] = [];
    for (const team of [undefined, own.slug, other.slug])
      for (const [method, path, json] of mixing(own, other)) {
        const headers = {
          ...user.headers,
          ...(team === undefined ? {} : { "windlass-team": team }),
        };
        const { status, text } = await ask(plane, method, path, { headers, json });
        if (status < 400 || status >= 500)
          accepted.push(
            `${team ?? "no team"}: ${method} ${path} ${JSON.stringify(json)}: ${status} ${text}`,
          );
      }
    expect(accepted).toEqual([]);
    expect(await dump(plane)).toEqual(before);
  });

  it("may refer to what is in the same team, so that the refusals prove something", async () => {
    const user = await addTestUser(plane);
    const own = await addThings(plane, user);
    const refused: string[] = [];
    for (const [method, path, json] of mixing(own, own)) {
      const answer = await ask(plane, method, path, { headers: user.headers, json });
      // The second configuration has the name of the first, and the plan no hash.
      const isFound = ["name_taken", "plan_is_stale"].some((code) => answer.text.includes(code));
      if (answer.status >= 400 && !isFound)
        refused.push(`${method} ${path} ${JSON.stringify(json)}: ${answer.status} ${answer.text}`);
    }
    expect(refused).toEqual([]);
  });
});
