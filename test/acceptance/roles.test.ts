/** Every endpoint of the server, called with an access token of every role of a team. */
import { randomBytes, randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { roles, type Role } from "../../protocol/roles.ts";
import {
  addHeldJob,
  addTestWorker,
  ask,
  readRow,
  setRows,
  stateHeaders,
} from "../helpers/plane.ts";
import { planeForFile } from "../helpers/plane-for-file.ts";
import { addArtifact, addJob, addSpec } from "../helpers/rows.ts";
import { bearer } from "../helpers/sign-in.ts";
import { addMember, addTeam } from "../helpers/teams.ts";
import { addTestUser } from "../helpers/test-user.ts";
import { endpoints } from "../../protocol/endpoints.ts";

/** The least role; `person`: no access token; `other`: a credential of another kind, or none. */
type Rule = Role | "person" | "other";

/** Written out, so that a wrong permission of an endpoint is found here. */
const rules: Record<string, Rule> = {
  "GET /api/auth/login/:provider": "other",
  "GET /api/auth/callback": "other",
  "POST /api/auth/cli/generate": "person",
  "POST /api/auth/cli/exchange": "other",
  "POST /api/auth/cli/refresh": "other",
  "GET /api/cli/zones": "viewer",
  "POST /api/cli/zones": "deployer",
  "GET /api/cli/zones/:id": "viewer",
  "PATCH /api/cli/zones/:id": "deployer",
  "DELETE /api/cli/zones/:id": "admin",
  "GET /api/cli/configurations": "viewer",
  "POST /api/cli/configurations": "deployer",
  "GET /api/cli/configurations/:name": "viewer",
  "PATCH /api/cli/configurations/:name": "deployer",
  "DELETE /api/cli/configurations/:name": "admin",
  "GET /api/cli/configurations/by-project-name/:project_name": "viewer",
  "POST /api/cli/archives": "planner",
  "POST /api/jobs": "planner",
  "GET /api/jobs": "viewer",
  "GET /api/cli/jobs/:id": "viewer",
  "GET /api/cli/jobs/:id/logs": "viewer",
  "GET /api/cli/jobs/:id/debug-log": "deployer",
  "GET /api/jobs/:id/logs/stream": "viewer",
  "GET /api/cli/jobs/:id/plan": "viewer",
  "POST /api/cli/jobs/:id/cancel": "planner",
  "POST /api/cli/jobs/:id/retry": "planner",
  "POST /api/jobs/:id/approvals": "person",
  "POST /api/jobs/claim": "other",
  "PUT /api/jobs/:id/status": "other",
  "POST /api/jobs/:id/logs": "other",
  "GET /api/jobs/:id/logs": "other",
  "POST /api/jobs/:id/plan-artifact": "other",
  "GET /api/jobs/:id/plan-artifact": "other",
  "POST /api/jobs/:id/debug-log": "other",
  "GET /api/jobs/:id/source": "other",
  "POST /api/workers/register": "admin",
  "POST /api/workers/proof": "other",
  "POST /api/workers/heartbeat": "other",
  "GET /api/workers/:id": "other",
  "POST /api/workers/:id/metadata": "other",
  "GET /api/cli/workers": "viewer",
  "POST /api/cli/workers": "admin",
  "GET /api/cli/workers/:id": "viewer",
  "PATCH /api/cli/workers/:id": "admin",
  "POST /api/cli/workers/:id/drain": "admin",
  "DELETE /api/cli/workers/:id/drain": "admin",
  "POST /api/cli/workers/:id/rotate-token": "admin",
  "DELETE /api/cli/workers/:id": "admin",
  "GET /api/cli/registration-tokens": "admin",
  "POST /api/cli/registration-tokens": "admin",
  "DELETE /api/cli/registration-tokens/:id": "admin",
  "GET /api/state/:spec_id": "other",
  "POST /api/state/:spec_id": "other",
  "LOCK /api/state/:spec_id": "other",
  "UNLOCK /api/state/:spec_id": "other",
  "GET /api/cli/repositories/:git_provider": "person",
  "POST /api/releases/worker": "other",
  "POST /api/runners/register": "other",
  "GET /api/cli/logins": "person",
  "DELETE /api/cli/logins/:id": "person",
  "POST /api/cli/access-tokens": "person",
  "GET /api/cli/access-tokens": "person",
  "GET /api/cli/teams": "viewer",
  "POST /api/cli/teams": "person",
  "GET /api/cli/teams/:slug": "viewer",
  "PATCH /api/cli/teams/:slug": "person",
  "DELETE /api/cli/teams/:slug": "person",
  "GET /api/cli/teams/:slug/members": "viewer",
  "PATCH /api/cli/teams/:slug/members/:user_id": "person",
  "DELETE /api/cli/teams/:slug/members/:user_id": "person",
  "POST /api/cli/teams/:slug/invitations": "person",
  "GET /api/cli/teams/:slug/invitations": "person",
  "DELETE /api/cli/teams/:slug/invitations/:id": "person",
  "GET /api/cli/access-tokens/current": "viewer",
  "DELETE /api/cli/access-tokens/:id": "person",
  "GET /api/cli/configurations/:name/state/versions": "viewer",
  "POST /api/cli/configurations/:name/state/versions": "deployer",
  "GET /api/cli/configurations/:name/state/versions/:serial": "deployer",
  "POST /api/cli/configurations/:name/state/versions/:serial/rollback": "deployer",
  "GET /api/cli/configurations/:name/state/lock": "viewer",
  "DELETE /api/cli/configurations/:name/state/lock": "deployer",
  "GET /api/cli/cloud-identities": "viewer",
  "POST /api/cli/cloud-identities": "admin",
  "GET /api/cli/cloud-identities/:id": "viewer",
  "PATCH /api/cli/cloud-identities/:id": "admin",
  "DELETE /api/cli/cloud-identities/:id": "admin",
  "GET /api/cli/cloud-identities/:id/trust-policy": "viewer",
  "GET /api/cli/variable-sets": "viewer",
  "POST /api/cli/variable-sets": "deployer",
  "GET /api/cli/variable-sets/:id": "viewer",
  "PATCH /api/cli/variable-sets/:id": "deployer",
  "DELETE /api/cli/variable-sets/:id": "admin",
  "PUT /api/cli/variable-sets/:id/zones/:zone_id": "deployer",
  "DELETE /api/cli/variable-sets/:id/zones/:zone_id": "deployer",
  "PUT /api/cli/variable-sets/:id/configurations/:configuration_id": "deployer",
  "DELETE /api/cli/variable-sets/:id/configurations/:configuration_id": "deployer",
  "GET /api/cli/audit": "viewer",
  "GET /healthz": "other",
  "GET /readyz": "other",
  "GET /metrics": "other",
  "GET /openapi.json": "other",
};

const { plane, routes } = planeForFile({ WINDLASS_OFFLINE_SECONDS: "3600" });

const source = { type: "inline", files: { "main.tf": "" } };
const trust = "?principal=arn:aws:iam::123456789012:root";

/** A team with one thing of each kind, and the request of each endpoint about them. */
async function makeSpace() {
  const { store } = plane.context;
  const user = await addTestUser(plane);
  const { slug, calls: client } = await addTeam(plane, user);
  const shared = await client.get(endpoints.createZone, { body: { name: "shared" } });
  const { id } = await readRow(plane, "teams", { slug });
  const owner = { id, zone: shared.id };
  const worker = await addTestWorker(plane, owner);
  const member = await addMember(plane, user, slug, "viewer");
  const invitation = await user.client.get(endpoints.createInvitation, {
    params: { slug },
    body: { role: "viewer" },
  });
  const [spec, empty] = [await addSpec(store, owner), await addSpec(store, owner)];
  const zone = await client.get(endpoints.createZone, { body: { name: "empty" } });
  const identity = await client.get(endpoints.createCloudIdentity, {
    body: { name: "i", provider: "aws", role_arn: "arn:aws:iam::123456789012:role/i" },
  });
  const set = await client.get(endpoints.createVariableSet, { body: { name: "s" } });
  const free = await client.get(endpoints.createVariableSet, { body: { name: "free" } });
  const registration = await client.get(endpoints.createRegistrationToken, { body: {} });
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
  const login = (await client.get(endpoints.listLogins, { query: {} })).logins[0]?.id ?? "";
  const job = (name: string) =>
    name.endsWith("/retry") ? ended.id : name.endsWith("/cancel") ? queued.id : planned.id;
  const kept = await client.get(endpoints.createAccessToken, {
    body: { name: "kept", role: "viewer" },
  });

  /** The path of a route with the ids of this space. */
  const pathOf = (method: string, url: string): string =>
    url
      .replace("/zones/:zone_id", `/zones/${owner.zone}`)
      .replace("/configurations/:configuration_id", `/configurations/${spec}`)
      .replace("/by-project-name/:project_name", `/${spec}`)
      .replace("/cli/zones/:id", `/cli/zones/${zone.id}`)
      .replace("/configurations/:name", `/configurations/${method === "DELETE" ? empty : spec}`)
      .replace("/jobs/:id", `/jobs/${job(url)}`)
      .replace("/workers/:id", `/workers/${method === "DELETE" ? spare.id : worker.id}`)
      .replace("/teams/:slug", `/teams/${slug}`)
      .replace("/members/:user_id", `/members/${member.owner.id}`)
      .replace("/invitations/:id", `/invitations/${invitation.id}`)
      .replace("/registration-tokens/:id", `/registration-tokens/${registration.id}`)
      .replace("/logins/:id", `/logins/${login}`)
      .replace("/access-tokens/:id", `/access-tokens/${kept.id}`)
      .replace("/state/:spec_id", `/state/${spec}`)
      .replace("/cloud-identities/:id", `/cloud-identities/${identity.id}`)
      .replace(
        "/variable-sets/:id",
        `/variable-sets/${method === "DELETE" && url.endsWith(":id") ? free.id : set.id}`,
      )
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
    "POST /api/cli/teams": { name: "New" },
    "PATCH /api/cli/teams/:slug": { name: "Renamed" },
    "PATCH /api/cli/teams/:slug/members/:user_id": { role: "planner" },
    "POST /api/cli/teams/:slug/invitations": { role: "viewer" },
    "POST /api/cli/cloud-identities": {
      name: "new",
      provider: "aws",
      role_arn: "arn:aws:iam::123456789012:role/new",
    },
    "PATCH /api/cli/cloud-identities/:id": { name: "renamed" },
    "POST /api/cli/variable-sets": { name: "new" },
    "PATCH /api/cli/variable-sets/:id": { name: "renamed" },
    "POST /api/cli/configurations/:name/state/versions": { ...state, serial: 9 },
  };
  return { client, pathOf, bodies };
}

/**
 * What is allowed, but refused for another reason in this space: the status that shows that the
 * permission was there.
 */
const otherwise: Record<string, number> = {
  // No debug log and no summary were stored.
  "GET /api/cli/jobs/:id/debug-log": 404,
  "GET /api/cli/jobs/:id/plan": 404,
  // A runner holds the state's lock.
  "POST /api/cli/configurations/:name/state/versions": 423,
  "POST /api/cli/configurations/:name/state/versions/:serial/rollback": 423,
};

it("every endpoint of the server has a rule, and every rule an endpoint", () => {
  const served = routes.filter(({ endpoint }) => endpoint).map((one) => `${one.method} ${one.url}`);
  expect(Object.keys(rules).toSorted()).toEqual(served.toSorted());
});

it("an access token may do what its role permits, and nothing else", async () => {
  const wrong: string[] = [];
  const counts = { allowed: 0, refused: 0 };
  for (const role of [...roles, "expired", "revoked"] as const) {
    const space = await makeSpace();
    const isDead = role === "expired" || role === "revoked";
    const token = await space.client.get(endpoints.createAccessToken, {
      body: { name: "ci", role: isDead ? "admin" : role },
    });
    if (role === "expired")
      await setRows(plane, "access_tokens", { expires_at: 1 }, { id: token.id });
    if (role === "revoked")
      await space.client.ask(endpoints.revokeAccessToken, { params: { id: token.id } });
    // What deletes comes last, so that the others find their things.
    const called = routes
      .filter(({ endpoint }) => endpoint !== undefined)
      .toSorted((a, b) => Number(isLast(a)) - Number(isLast(b)));
    for (const { method, url } of called) {
      const key = `${method} ${url}`;
      const rule = rules[key] ?? "other";
      if (rule === "other" && isOpen(url)) continue;
      const isArchive = url === "/api/cli/archives";
      const answer = await ask(plane, method, space.pathOf(method, url), {
        headers: {
          ...bearer(token.access_token),
          ...(url.endsWith("/stream") ? { "last-event-id": "0" } : {}),
          ...(isArchive ? { "content-type": "application/gzip" } : {}),
        },
        ...(isArchive
          ? { body: Buffer.of(0x1f, 0x8b, ...randomBytes(20)) }
          : { json: space.bodies[key] }),
      });
      const { status } = answer;
      const said = `${role}: ${key}: ${status} ${answer.text.slice(0, 300)}`;
      if (rule === "other" || isDead || key === "POST /api/auth/cli/generate") {
        // Not the credential that is asked for; wrong release secrets are limited.
        if (status !== 401 && status !== 429) wrong.push(said);
        counts.refused += 1;
      } else if (rule === "person" || roles.indexOf(role) < roles.indexOf(rule)) {
        if (status !== 403 || answer.json()["code"] !== "permission_denied") wrong.push(said);
        counts.refused += 1;
      } else {
        if (status >= 300 && status !== otherwise[key]) wrong.push(said);
        counts.allowed += 1;
      }
    }
  }
  process.stdout.write(`${JSON.stringify(counts)}, ${wrong.length} wrong\n`);
  expect(wrong).toEqual([]);
});

const isLast = ({ method, url }: { method: string; url: string }): boolean =>
  method === "DELETE" && !url.endsWith("/lock") && !url.includes("/zones/:zone_id");

/** Needs no credential. */
const isOpen = (url: string): boolean =>
  /^\/(healthz|readyz|metrics|openapi\.json|api\/auth\/|api\/workers\/proof)/.test(url);
