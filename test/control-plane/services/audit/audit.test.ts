/** Takes every step of one user through the API and checks the audit entries of each step. */
import { randomUUID } from "node:crypto";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { acceptInvitation } from "../../../../control-plane/services/teams/invitations.ts";
import { createLink } from "../../../../control-plane/services/people/logins.ts";
import type { AuditAction } from "../../../../protocol/audit.ts";
import {
  addHeldJob,
  addTestWorker,
  ask,
  jobCredential,
  readRow,
  setJob,
  startPlane,
  stateHeaders,
  setRows,
} from "../../../helpers/plane/plane.ts";
import { addJob, addOwner, addPullRequest, addSpec } from "../../../helpers/plane/rows.ts";
import { withRoutes, type ServedRoute } from "../../../helpers/plane/routes.ts";
import { bearer, cookieOf } from "../../../helpers/people/sign-in.ts";
import { callerOf } from "../../../helpers/people/caller.ts";
import { auditor, type Auditor, type Credential } from "./audit-steps.ts";

/**
 * Routes that change something but are not recorded, with the reason. A new route is either
 * recorded or listed here.
 */
const unrecorded: Record<string, string> = {
  "POST /api/jobs/claim": "called often; the entry of the job's end names its worker and attempt",
  "POST /api/jobs/:id/logs": "called often; the log itself is the record",
  "POST /api/workers/heartbeat": "called often; it carries no decision of a user",
  "POST /api/workers/proof": "changes nothing; it proves that the server knows the worker",
  "POST /api/jobs/:id/plan-artifact": "part of a job, whose end is recorded",
  "POST /api/jobs/:id/debug-log": "part of a job, whose end is recorded",
  "POST /api/jobs/:id/identity-token": "part of a job, whose end is recorded",
  "POST /api/workers/:id/metadata": "set by the worker; it cannot change what a user has set",
  "POST /api/state/:spec_id": "each version is listed with the job that wrote it",
  "POST /api/events/:id": "an event of a code host, which changes only when the host is asked next",
  "POST /api/cli/connections/:id/check": "changes nothing; it asks the host",
  "POST /api/cli/connections/:id/webhooks": "changes something at the host, which records it",
  "POST /api/auth/:provider/backchannel-logout":
    "each login that it ends has an entry (people/provider-sessions.test.ts)",
  "POST /api/cli/configurations/:name/check-drift":
    "queues a job, which is recorded as any other (drift/drift.test.ts)",
  "POST /api/cli/notifications/:id/test": "changes nothing; its delivery is listed",
  "POST /api/cli/notifications/:id/deliveries/:delivery_id/redeliver":
    "changes nothing; the delivery says when it was sent",
  "LOCK /api/state/:spec_id": "part of a job, whose end is recorded",
  "UNLOCK /api/state/:spec_id": "part of a job; a user's unlock is recorded",
};
/**
 * The console's forms call the same services as the API, and those services write the entries; what
 * operators do is in `services/people/operators.test.ts`.
 */
const isForm = (url: string): boolean =>
  /^\/(zones|configurations|identities|variable-sets|connections|notifications|schedules|pull-requests|jobs|workers|settings|teams|invitations|operator)(\/|$)/.test(
    url,
  );

const releaseSecret = "release-secret-that-nothing-may-show";
const planted = "planted-value-that-nothing-may-show";
const secrets: string[] = [releaseSecret, planted];
const email = `${randomUUID()}@example.com`;
let log: Auditor;
let routes: ServedRoute[];
let session: Credential;
let cli: Credential;

beforeAll(async () => {
  const settings = { RELEASE_API_SECRET: releaseSecret, WINDLASS_TRUSTED_PROXIES: "127.0.0.1" };
  const [plane, served] = await withRoutes(() => startPlane(settings));
  routes = served;
  log = auditor(plane);
  session = await openSession();
  cli = await openClient();
});
afterAll(() => log.plane.close());

async function openSession(): Promise<Credential> {
  const { context, url } = log.plane;
  const token = await createLink(context.store, email, context.now());
  secrets.push(token);
  const visitor = { kind: "session", name: email, headers: {} } as const;
  const opened = await log.step(visitor, "GET /login/link/:token", ["login.create"], {
    ids: [token],
  });
  const cookie = cookieOf(opened.answer) ?? "";
  secrets.push(cookie.split("=")[1] ?? "");
  return { kind: "session", name: email, headers: { cookie, origin: url } };
}

async function openClient(): Promise<Credential & { refresh: string }> {
  const device_code = randomUUID();
  const body = { device_code };
  const approved = await log.step(session, "POST /api/auth/cli/generate", ["device_code.approve"], {
    body,
  });
  const codes = { device_code, verification_code: String(approved.json.verification_code) };
  // Six characters occur in many texts, so search for the code as a JSON string.
  secrets.push(device_code, `"${codes.verification_code}"`);
  const client = { kind: "cli_login", name: email, headers: {} } as const;
  const { json } = await log.step(client, "POST /api/auth/cli/exchange", ["login.create"], {
    body: codes,
  });
  const [access, refresh] = [String(json.access_token), String(json.refresh_token)];
  secrets.push(access, refresh);
  return { ...client, headers: bearer(access), refresh };
}

/** A step of the user's command-line client. */
const does = (key: string, actions: AuditAction[], more: Parameters<Auditor["step"]>[3] = {}) =>
  log.step(cli, key, actions, more);

describe("the audit log", () => {
  it("records sign-ins, device codes and the end of logins", async () => {
    const { context } = log.plane;
    await createLink(context.store, email, context.now());
    const [made] = (await log.rows()).slice(-1);
    expect(made).toMatchObject({
      action: "login_link.create",
      actor_kind: "operator",
      ip_address: null,
      target_name: email,
    });
    expect(made?.owner_id).toBe(await log.owner(email));

    const device_code = randomUUID();
    const form = { body: `device_code=${device_code}`, type: "application/x-www-form-urlencoded" };
    await log.step(session, "POST /cli/login", ["device_code.approve"], form);
    const anonymous = { kind: "anonymous", name: null, headers: {} } as const;
    const wrong = { body: { device_code, verification_code: "0" }, status: 400 };
    for (const actions of [[], [], [], [], ["device_code.burn"], []] as AuditAction[][])
      await log.step(anonymous, "POST /api/auth/cli/exchange", actions, wrong);

    const stolen = await openClient();
    let refresh_token = stolen.refresh;
    for (const round of [0, 1, 2]) {
      const { json } = await log.step(stolen, "POST /api/auth/cli/refresh", [], {
        body: { refresh_token },
      });
      secrets.push((refresh_token = String(json.refresh_token)));
      expect(round).toBeLessThan(3);
    }
    const reuse = { body: { refresh_token: stolen.refresh }, status: 401 };
    const reused = await log.step(stolen, "POST /api/auth/cli/refresh", ["login.revoke"], reuse);
    expect(reused.entries[0]?.details).toBe('{"reason":"refresh_token_reused"}');
    await log.step(stolen, "POST /api/auth/cli/refresh", [], reuse);

    const [ended] = (await log.rows())
      .filter(({ action }) => action === "login.create")
      .slice(0, 1);
    const revoke = { ids: [ended?.target_id ?? ""] };
    await does("DELETE /api/cli/logins/:id", ["login.revoke"], revoke);
    await does("DELETE /api/cli/logins/:id", [], { ...revoke, status: 404 });
    const token = await does("POST /api/cli/access-tokens", ["access_token.create"], {
      body: { name: "ci", role: "deployer" },
    });
    secrets.push(String(token.json.access_token));
    const ci = {
      kind: "access_token",
      name: `ci (token of ${email})`,
      headers: bearer(String(token.json.access_token)),
    } as const;
    await log.step(ci, "POST /api/cli/zones", ["zone.create"], { body: { name: "of ci" } });
    const revokeToken = { ids: [String(token.json.id)] };
    await does("DELETE /api/cli/access-tokens/:id", ["access_token.revoke"], revokeToken);
    await does("DELETE /api/cli/access-tokens/:id", [], { ...revokeToken, status: 404 });
    session = await openSession();
    await log.step(session, "POST /logout", ["login.revoke"], { status: 303 });
  });

  it("records changes of zones, configurations, cloud identities and archives by name, without values", async () => {
    const { json: zone } = await does("POST /api/cli/zones", ["zone.create"], {
      body: { name: "z" },
    });
    await does("POST /api/cli/zones", [], { body: { name: "z" }, status: 409 });
    const ids = [String(zone.id)];
    await does("PATCH /api/cli/zones/:id", ["zone.update"], { ids, body: { name: "z2" } });
    const archive = { body: gzipSync("x"), type: "application/gzip" };
    await does("POST /api/cli/archives", ["archive.upload"], archive);
    await does("POST /api/cli/archives", [], archive);
    const identity = { name: "i", provider: "aws", role_arn: "arn:aws:iam::123456789012:role/i" };
    const made = await does("POST /api/cli/cloud-identities", ["cloud_identity.create"], {
      body: identity,
    });
    const own = { ids: [String(made.json.id)] };
    const patched = { ...own, body: { name: "i2" } };
    await does("PATCH /api/cli/cloud-identities/:id", ["cloud_identity.update"], patched);
    await does("DELETE /api/cli/cloud-identities/:id", ["cloud_identity.delete"], own);
    const variables = {
      password: { value: planted, sensitive: true },
      size: { value: `${planted}2` },
    };
    const source = { type: "inline", files: { "main.tf": "" } };
    const configuration = { name: "c", zone_id: zone.id, source, variables };
    const created = await does("POST /api/cli/configurations", ["configuration.create"], {
      body: configuration,
    });
    const change = { ids: ["c"], body: { variables, labels: ["a"] } };
    const updated = await does(
      "PATCH /api/cli/configurations/:name",
      ["configuration.update"],
      change,
    );
    expect(updated.entries[0]).toMatchObject({
      target_name: "c",
      details: '{"fields":["variables","labels"]}',
    });
    await connect();
    await notify();
    await schedule(String(created.json.id));
    await attach(String(zone.id), String(created.json.id));
    await does("DELETE /api/cli/zones/:id", [], { ids, status: 409 });
    await does("DELETE /api/cli/configurations/:name", ["configuration.delete"], { ids: ["c"] });
    const removed = await does("DELETE /api/cli/zones/:id", ["zone.delete"], { ids });
    expect(removed.entries[0]).toMatchObject({ target_id: zone.id, target_name: "z2" });
  });

  async function connect() {
    const path = "/api/cli/connections";
    const body = { name: "c", kind: "gitlab", credential: planted };
    const made = await does(`POST ${path}`, ["connection.create"], { body });
    const ids = [String(made.json.id)];
    secrets.push(String(made.json.webhook_secret));
    await does(`PATCH ${path}/:id`, ["connection.update"], { ids, body: { credential: planted } });
    const rotated = await does(`POST ${path}/:id/rotate-secret`, ["connection.rotate_secret"], {
      ids,
      body: { overlap_seconds: 60 },
    });
    secrets.push(String(rotated.json.webhook_secret));
    const connection_id = ids[0] ?? "";
    const { owner_id } = await readRow(log.plane, "connections", { id: connection_id });
    const fork = { owner_id, connection_id, is_fork: 1, post_at: null } as const;
    const pull = await addPullRequest(log.plane.context.store, fork);
    await does("POST /api/cli/pull-requests/:id/approve", ["pull_request.approve"], {
      ids: [pull.id],
      body: { commit: pull.head_commit },
    });
    await does(`DELETE ${path}/:id`, ["connection.delete"], { ids });
  }

  async function notify() {
    const path = "/api/cli/notifications";
    const to = { kind: "webhook", url: `https://hooks.invalid/${planted}` };
    const body = { name: "n", events: ["deployed"], to };
    const made = await does(`POST ${path}`, ["notification.create"], { body });
    const ids = [String(made.json.id)];
    secrets.push(String(made.json.secret));
    await does(`PATCH ${path}/:id`, ["notification.update"], { ids, body: { to } });
    const rotated = await does(`POST ${path}/:id/rotate-secret`, ["notification.rotate_secret"], {
      ids,
      body: { overlap_seconds: 60 },
    });
    secrets.push(String(rotated.json.secret));
    await does(`DELETE ${path}/:id`, ["notification.delete"], { ids });
  }

  async function schedule(configuration_id: string) {
    const path = "/api/cli/schedules";
    const body = {
      name: "s",
      kind: "destroy",
      configuration_id,
      cron: "0 0 1 1 *",
      timezone: "UTC",
    };
    const made = await does(`POST ${path}`, ["schedule.create"], { body });
    const ids = [String(made.json.id)];
    await does(`PATCH ${path}/:id`, ["schedule.update"], { ids, body: { enabled: false } });
    await does(`POST ${path}/:id/run`, ["schedule.run"], { ids });
    await does(`DELETE ${path}/:id`, ["schedule.delete"], { ids });
  }

  /** Changes a variable set, and attaches it to a zone and a configuration for a moment. */
  async function attach(zone: string, configuration: string) {
    const body = { name: "s", variables: { password: { value: planted, sensitive: true } } };
    const set = await does("POST /api/cli/variable-sets", ["variable_set.create"], { body });
    const id = String(set.json.id);
    const change = { ids: [id], body: { ...body, name: "s2" } };
    await does("PATCH /api/cli/variable-sets/:id", ["variable_set.update"], change);
    for (const [kind, target] of [
      ["zones/:zone_id", zone],
      ["configurations/:configuration_id", configuration],
    ] as const) {
      const path = `/api/cli/variable-sets/:id/${kind}`;
      await does(`PUT ${path}`, ["variable_set.attach"], { ids: [id, target] });
      await does(`DELETE ${path}`, ["variable_set.detach"], { ids: [id, target] });
    }
    await does("DELETE /api/cli/variable-sets/:id", ["variable_set.delete"], { ids: [id] });
  }

  it("records workers under their name, however they were registered", async () => {
    const token = await does("POST /api/cli/registration-tokens", ["registration_token.create"], {
      body: {},
    });
    const secret = String(token.json.registration_token);
    const made = {
      kind: "registration_token",
      name: null,
      headers: { "x-registration-token": secret },
    } as const;
    const unused = await does("POST /api/cli/registration-tokens", ["registration_token.create"], {
      body: {},
    });
    secrets.push(String(unused.json.registration_token));
    const revoke = "DELETE /api/cli/registration-tokens/:id";
    const unusedIds = [String(unused.json.id)];
    await does(revoke, ["registration_token.revoke"], { ids: unusedIds });
    await does(revoke, [], { ids: unusedIds, status: 404 });
    const body = { name: "w" };
    const { json, entries } = await log.step(
      made,
      "POST /api/workers/register",
      ["worker.register"],
      { body },
    );
    expect(entries[0]?.actor_id).toBe(token.entries[0]?.target_id);
    const ids = [String(json.worker_id)];
    const headers = { "x-worker-id": ids[0] ?? "", "x-worker-token": String(json.worker_token) };
    const worker = { kind: "worker", name: "w", headers } as const;
    secrets.push(secret, headers["x-worker-token"]);
    await log.step(worker, "POST /api/workers/heartbeat", [], { body: { version: "1.0.0" } });
    await log.step(worker, "POST /api/workers/:id/metadata", [], { ids, body: { a: planted } });
    await log.step(worker, "POST /api/workers/register", ["worker.register"], {
      body: { name: "w2" },
    });
    await does("POST /api/cli/workers/:id/drain", ["worker.drain"], { ids });
    await does("POST /api/cli/workers/:id/drain", [], { ids });
    await does("DELETE /api/cli/workers/:id/drain", ["worker.undrain"], { ids });
    const rotated = await does("POST /api/cli/workers/:id/rotate-token", ["worker.rotate_token"], {
      ids,
    });
    secrets.push(String(rotated.json.worker_token));
    await does("POST /api/cli/workers", ["worker.register"], { body });
    const { plane } = log;
    const owner = { id: await log.owner(email), zone: "" };
    const holder = { ...(await addTestWorker(plane, owner)), id: ids[0] ?? "" };
    await addHeldJob(plane, owner, holder, { started_at: 1 });
    const removed = await does("DELETE /api/cli/workers/:id", ["job.lose", "worker.remove"], {
      ids,
    });
    expect(removed.entries[0]?.details).toContain('"status":"FAILED"');
  });

  /** Approves and rejects a deployment that the rule of its configuration covers. */
  async function decide([plan_job_id = ""]: string[]): Promise<void> {
    const { store } = log.plane.context;
    const owner = { ...(await addOwner(store)), id: await log.owner(email) };
    const spec_id = await addSpec(store, owner);
    await setRows(
      log.plane,
      "specs",
      { approval_when: "always", approval_by_author: 1 },
      { id: spec_id },
    );
    const { id } = await addJob(store, owner, { job_type: "DEPLOY", spec_id, plan_job_id });
    const key = "POST /api/jobs/:id/approvals";
    for (const decision of ["approve", "reject"] as const) {
      const done = await does(key, [`job.${decision}`], { ids: [id], body: { decision } });
      expect(JSON.parse(done.entries[0]?.details ?? "")).toEqual({ plan_job_id });
    }
    await does(key, [], { ids: [id], body: { decision: "approve" }, status: 409 });
  }

  it("records who created, cancelled, retried and ended a job", async () => {
    const { plane } = log;
    const owner = { ...(await addOwner(plane.context.store)), id: await log.owner(email) };
    const worker = await addTestWorker(plane, owner);
    const runner = { kind: "worker", name: worker.name, headers: worker.headers } as const;
    const body = { job_type: "PLAN", configuration_id: await addSpec(plane.context.store, owner) };
    const { json: first } = await does("POST /api/jobs", ["job.create"], { body });
    await does("POST /api/cli/jobs/:id/cancel", ["job.cancel"], { ids: [String(first.id)] });
    await does("POST /api/cli/jobs/:id/cancel", [], { ids: [String(first.id)], status: 409 });
    const retried = await does("POST /api/cli/jobs/:id/retry", ["job.retry"], {
      ids: [String(first.id)],
    });
    expect(retried.entries[0]?.details).toContain(`"retry_of":"${String(first.id)}"`);
    const ids = [String(retried.json.id)];
    await log.step(runner, "POST /api/jobs/claim", []);
    const chunk = { log_chunk: planted, stream_type: "STDOUT" };
    await log.step(runner, "POST /api/jobs/:id/logs", [], { ids, body: chunk });
    const status = "PUT /api/jobs/:id/status";
    await decide(ids);
    await log.step(runner, status, [], { ids, body: { status: "PROCESSING" } });
    const end = { ids, body: { status: "FAILED", error_message: planted } };
    const ended = await log.step(runner, status, ["job.end"], end);
    expect(JSON.parse(ended.entries[0]?.details ?? "")).toEqual({
      status: "FAILED",
      status_before: "PROCESSING",
      worker_id: worker.id,
      attempt: 1,
    });
    await log.step(runner, status, [], end);
    const target = await addTestWorker(plane, owner);
    const { configuration_id } = body;
    const updated = await does("PATCH /api/cli/workers/:id", ["worker.update"], {
      ids: [target.id],
      body: { deploy_configuration: { configuration_id, targets: ["module.worker"] } },
    });
    expect(JSON.parse(updated.entries[0]?.details ?? "")).toEqual({
      fields: ["deploy_configuration"],
      configuration_id,
      destroys: ["module.worker"],
    });
    const teardown = { job_type: "DESTROY_WORKER", assigned_worker_id: target.id };
    const { json: last } = await does("POST /api/jobs", ["worker.drain", "job.create"], {
      body: teardown,
    });
    await log.step(runner, "POST /api/jobs/claim", []);
    const success = { ids: [String(last.id)], body: { status: "SUCCESS" } };
    await log.step(runner, status, ["job.end", "worker.remove"], success);
    await log.step(runner, status, [], success);
  });

  it("records who downloaded, pushed, rolled back or unlocked a state", async () => {
    const { plane } = log;
    const owner = { ...(await addOwner(plane.context.store)), id: await log.owner(email) };
    const spec = await addSpec(plane.context.store, owner);
    const job = await addHeldJob(plane, owner, await addTestWorker(plane, owner), {
      spec_id: spec,
    });
    const { password } = jobCredential(plane, job);
    const terraform = { kind: "worker", name: null, headers: stateHeaders(plane, job) } as const;
    const ids = [spec];
    secrets.push(password);
    const lock = { ids, body: { ID: "a" } };
    await log.step(terraform, "LOCK /api/state/:spec_id", [], lock);
    const state = { version: 4, serial: 1, lineage: "l", outputs: { a: planted }, resources: [] };
    await log.step(terraform, "POST /api/state/:spec_id", [], { ids, query: "?ID=a", body: state });
    await setJob(plane, job, { status: "FAILED", ended_at: 1, released_at: 1 });
    const versions = "/api/cli/configurations/:name/state/versions/:serial";
    await does(`POST ${versions}/rollback`, [], { ids: [spec, "1"], status: 423 });
    await does("DELETE /api/cli/configurations/:name/state/lock", ["state.unlock"], { ids });
    await does("DELETE /api/cli/configurations/:name/state/lock", [], { ids });
    await does(`GET ${versions}`, ["state.download"], { ids: [spec, "1"] });
    await does(`GET ${versions}`, [], { ids: [spec, "7"], status: 404 });
    await does(`POST ${versions}/rollback`, ["state.roll_back"], { ids: [spec, "1"] });
    const pushed = { ...state, serial: 9 };
    const push = "POST /api/cli/configurations/:name/state/versions";
    await does(push, ["state.push"], { ids, body: pushed });
    await does(push, [], { ids, body: { ...pushed, serial: 8 }, status: 409 });
  });

  it("records who downloaded the debug log of a job", async () => {
    const { plane } = log;
    const owner = { ...(await addOwner(plane.context.store)), id: await log.owner(email) };
    const worker = await addTestWorker(plane, owner);
    const job = await addHeldJob(plane, owner, worker, { features: '["debug"]' });
    const path = `/api/jobs/${job.id}/debug-log`;
    await ask(plane, "POST", path, { headers: worker.headers, body: gzipSync(planted) });
    const download = "GET /api/cli/jobs/:id/debug-log";
    await does(download, ["job.download_debug_log"], { ids: [job.id] });
    await does(download, [], { ids: [randomUUID()], status: 404 });
  });

  it("records what changes a team, its members and its invitations", async () => {
    const slug = "audited";
    const body = { name: "Audited", slug };
    await does("POST /api/cli/teams", ["team.create"], { body });
    await does("POST /api/cli/teams", [], { body, status: 409 });
    const team = { ids: [slug] };
    await does("PATCH /api/cli/teams/:slug", ["team.update"], { ...team, body: { name: "A" } });
    const groups = { ...team, body: { groups: [] } };
    await does("PUT /api/cli/teams/:slug/groups", ["team.set_groups"], groups);
    const invitations = "POST /api/cli/teams/:slug/invitations";
    const invite = { ...team, body: { role: "viewer" } };
    const { json: revoked } = await does(invitations, ["invitation.create"], invite);
    const { json: used } = await does(invitations, ["invitation.create"], invite);
    const tokens = [revoked, used].map(({ link }) => String(link).split("/").at(-1) ?? "");
    secrets.push(...tokens);
    const revoke = { ids: [slug, String(revoked.id)] };
    const revocation = "DELETE /api/cli/teams/:slug/invitations/:id";
    await does(revocation, ["invitation.revoke"], revoke);
    await does(revocation, [], { ...revoke, status: 404 });

    const { context } = log.plane;
    const { id } = await addOwner(context.store);
    await acceptInvitation(context, callerOf({ id }), tokens[1] ?? "");
    expect((await log.rows()).at(-1)).toMatchObject({ action: "member.join", target_id: id });
    const member = { ids: [slug, id] };
    const path = "/api/cli/teams/:slug/members/:user_id";
    const promote = { ...member, body: { role: "planner" } };
    await does(`PATCH ${path}`, ["member.update"], promote);
    await does(`PATCH ${path}`, [], promote);
    await does(`DELETE ${path}`, ["member.remove"], member);
    await does(`DELETE ${path}`, [], { ...member, status: 404 });
    await does("DELETE /api/cli/teams/:slug", ["team.delete"], team);
    await does("DELETE /api/cli/teams/:slug", [], { ...team, status: 404 });
  });

  it("records what a pipeline does, without an owner", async () => {
    const pipeline = { kind: "pipeline", name: null, headers: bearer(releaseSecret) } as const;
    const release = { body: { version: "1.2.3", release_notes: planted } };
    const { entries } = await log.step(
      pipeline,
      "POST /api/releases/worker",
      ["release.publish"],
      release,
    );
    expect(entries[0]).toMatchObject({ owner_id: null, target_id: "1.2.3" });
    await log.step(pipeline, "POST /api/releases/worker", [], { ...release, status: 409 });
    const body = { name: "cloud" };
    await log.step(pipeline, "POST /api/runners/register", ["worker.register"], { body });
  });

  it("holds no secret and no value, and keeps every entry below 2000 characters", async () => {
    const rows = await log.rows();
    const text = JSON.stringify(rows);
    expect(rows.length).toBeGreaterThan(40);
    expect(secrets.length).toBeGreaterThan(15);
    expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
    expect(Math.max(...rows.map((row) => JSON.stringify(row).length))).toBeLessThan(2000);
  });

  it("covers every route that changes something", () => {
    const unsafe = routes
      .filter(({ method, url }) => method !== "GET" && !isForm(url))
      .map(({ method, url }) => `${method} ${url}`);
    expect(unsafe.filter((key) => !log.recorded.has(key) && !unrecorded[key])).toEqual([]);
    expect(
      Object.keys(unrecorded).filter((key) => log.recorded.has(key) || !unsafe.includes(key)),
    ).toEqual([]);
  });
});
