/** A team with one thing of each kind, and the request of each route about them. */
import { randomUUID } from "node:crypto";
import { addHeldJob, addTestWorker, ask, readRow, stateHeaders, type Plane } from "./plane.ts";
import { addArtifact, addJob, addPullRequest, addSpec } from "./rows.ts";
import { addMember, addTeam } from "../people/teams.ts";
import { addTestUser } from "../people/user.ts";

const source = { type: "inline", files: { "main.tf": "" } };
const trust = "?principal=arn:aws:iam::123456789012:root";

/** `isPersonal`: the things are in the personal space of the team's admin. */
export async function makeSpace(plane: Plane, isPersonal = false) {
  const { store } = plane.context;
  const user = await addTestUser(plane);
  const { slug, calls } = await addTeam(plane, user);
  const client = isPersonal ? user.client : calls;
  /** Part of names of its things, and of nothing else. */
  const mark = `mark-${randomUUID()}`;
  const shared = await client.call("createZone", { body: { name: mark } });
  const id = isPersonal ? user.owner.id : (await readRow(plane, "teams", { slug })).id;
  const owner = { id, zone: shared.id };
  const worker = await addTestWorker(plane, owner);
  const member = await addMember(plane, user, slug, "viewer");
  const invitation = await user.client.call("createInvitation", {
    params: { slug },
    body: { role: "viewer" },
  });
  const [spec, empty] = [await addSpec(store, owner), await addSpec(store, owner)];
  const zone = await client.call("createZone", { body: { name: "empty" } });
  const identity = await client.call("createCloudIdentity", {
    body: { name: "i", provider: "aws", role_arn: "arn:aws:iam::123456789012:role/i" },
  });
  const connection = await client.call("createConnection", {
    body: { name: "c", kind: "forgejo", base_url: "https://git.invalid", credential: "t" },
  });
  const pull = await addPullRequest(store, {
    owner_id: id,
    connection_id: connection.id,
    is_fork: 1,
    post_at: null,
  });
  const notify = (name: string) =>
    client.call("createNotification", {
      body: { name, events: ["job.*"], to: { kind: "webhook", url: "https://hooks.invalid" } },
    });
  const [rule, spareRule] = [await notify("rule"), await notify("spare")];
  const delivery = await client.call("testNotification", { params: { id: rule.id } });
  const schedule = (name: string) =>
    client.call("createSchedule", {
      body: {
        name,
        kind: "plan",
        configuration_id: spec,
        cron: "0 0 1 1 *",
        timezone: "UTC",
        enabled: false,
      },
    });
  const [yearly, spareSchedule] = [await schedule("yearly"), await schedule("spare")];
  const set = await client.call("createVariableSet", { body: { name: "s" } });
  const free = await client.call("createVariableSet", { body: { name: "free" } });
  const registration = await client.call("createRegistrationToken", { body: {} });
  const running = await addHeldJob(plane, owner, worker, { spec_id: spec, started_at: 1 });
  const headers = stateHeaders(plane, running);
  const state = { version: 4, serial: 1, lineage: randomUUID(), outputs: {}, resources: [] };
  await ask(plane, "LOCK", `/api/state/${spec}`, { headers, json: { ID: "lock" } });
  await ask(plane, "POST", `/api/state/${spec}?ID=lock`, { headers, json: state });
  const over = { status: "FAILED", ended_at: 2, released_at: 2, spec_id: spec } as const;
  const ended = await addHeldJob(plane, owner, worker, over);
  const planned = await addHeldJob(plane, owner, worker, { ...over, status: "SUCCESS" });
  await addArtifact(store, planned.id);
  const queued = await addJob(store, owner, { spec_id: empty });
  const spare = await addTestWorker(plane, owner);
  const job = (name: string) =>
    name.endsWith("/retry") ? ended.id : name.endsWith("/cancel") ? queued.id : planned.id;
  /** Whether a request deletes what it names. */
  const deletes = (method: string, url: string) =>
    (method === "DELETE" && url.endsWith(":id")) || /\/(delete|remove)$/.test(url);
  const kept = await client.call("createAccessToken", {
    body: { name: "kept", role: "viewer" },
  });

  /** The path of a route with the ids of this space; `login` is one of the caller. */
  const pathOf = (method: string, url: string, login = ""): string =>
    url
      .replace("/zones/:zone_id", `/zones/${owner.zone}`)
      .replace("/configurations/:configuration_id", `/configurations/${spec}`)
      .replace("/by-project-name/:project_name", `/${spec}`)
      .replace("/zones/:id", `/zones/${zone.id}`)
      .replace("/configurations/:name", `/configurations/${method === "DELETE" ? empty : spec}`)
      .replace("/configurations/:id", `/configurations/${deletes(method, url) ? empty : spec}`)
      .replace("/jobs/:id", `/jobs/${job(url)}`)
      .replace(
        "/workers/:id",
        `/workers/${method === "DELETE" || deletes(method, url) ? spare.id : worker.id}`,
      )
      .replace("/teams/:slug", `/teams/${slug}`)
      .replace(/\/members\/:\w+/, `/members/${member.owner.id}`)
      .replace("/invitations/:token", new URL(invitation.link).pathname)
      .replace("/invitations/:id", `/invitations/${invitation.id}`)
      .replace("/registration-tokens/:id", `/registration-tokens/${registration.id}`)
      .replace("/logins/:id", `/logins/${login}`)
      .replace("/access-tokens/:id", `/access-tokens/${kept.id}`)
      .replace("/state/:spec_id", `/state/${spec}`)
      .replace(/identities\/:id/, `identities/${identity.id}`)
      .replace(/(connections|events)\/:id/, `$1/${connection.id}`)
      .replace(
        "/notifications/:id",
        `/notifications/${deletes(method, url) ? spareRule.id : rule.id}`,
      )
      .replace(":delivery_id", delivery.id)
      .replace(
        "/schedules/:id",
        `/schedules/${deletes(method, url) ? spareSchedule.id : yearly.id}`,
      )
      .replace("/pull-requests/:id", `/pull-requests/${pull.id}`)
      .replace("/variable-sets/:id", `/variable-sets/${deletes(method, url) ? free.id : set.id}`)
      .replace(":serial", "1")
      .replace(":git_provider", "github")
      .replace(":provider", "github") + (url.endsWith("trust-policy") ? trust : "");

  const bodies: Record<string, unknown> = {
    "POST /api/auth/cli/generate": { device_code: randomUUID() },
    "POST /api/cli/zones": { name: "new" },
    "PATCH /api/cli/zones/:id": { name: "renamed" },
    "POST /api/cli/configurations": { name: "new", zone_id: owner.zone, source },
    "PATCH /api/cli/configurations/:name": { labels: ["a"] },
    "POST /api/jobs": { job_type: "PLAN", configuration_id: spec },
    "POST /api/jobs/:id/approvals": { decision: "approve" },
    "POST /api/cli/workers": { name: "new" },
    "PATCH /api/cli/workers/:id": { name: "renamed" },
    "POST /api/cli/registration-tokens": {},
    "POST /api/workers/register": { name: "new" },
    "POST /api/cli/access-tokens": { name: "new", role: "viewer" },
    "POST /api/cli/teams": { name: `New ${mark}` },
    "PATCH /api/cli/teams/:slug": { name: "Renamed" },
    "PATCH /api/cli/teams/:slug/members/:user_id": { role: "planner" },
    "PUT /api/cli/teams/:slug/groups": { groups: [] },
    "POST /api/cli/teams/:slug/invitations": { role: "viewer" },
    "POST /api/cli/cloud-identities": {
      name: "new",
      provider: "aws",
      role_arn: "arn:aws:iam::123456789012:role/new",
    },
    "PATCH /api/cli/cloud-identities/:id": { name: "renamed" },
    "POST /api/cli/connections": { name: "new", kind: "gitlab", credential: "t" },
    "PATCH /api/cli/connections/:id": { name: "renamed" },
    "POST /api/cli/connections/:id/rotate-secret": { overlap_seconds: 60 },
    "POST /api/cli/connections/:id/webhooks": { repository: "owner/name" },
    "POST /api/cli/notifications": {
      name: "new",
      events: ["deployed"],
      to: { kind: "webhook", url: "https://hooks.invalid" },
    },
    "PATCH /api/cli/notifications/:id": { name: "renamed" },
    "POST /api/cli/notifications/:id/rotate-secret": { overlap_seconds: 60 },
    "POST /api/cli/pull-requests/:id/approve": { commit: pull.head_commit },
    "POST /api/cli/schedules": {
      name: "new",
      kind: "plan",
      zone_id: owner.zone,
      cron: "0 0 1 1 *",
      timezone: "UTC",
    },
    "PATCH /api/cli/schedules/:id": { name: "renamed" },
    "POST /api/cli/variable-sets": { name: "new" },
    "PATCH /api/cli/variable-sets/:id": { name: "renamed" },
    "POST /api/cli/configurations/:name/state/versions": { ...state, serial: 9 },
  };
  const zones = [shared.id, zone.id];
  return { admin: user, slug, id, mark, zones, spec, client, pathOf, bodies };
}
