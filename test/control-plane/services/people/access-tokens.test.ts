import { request } from "node:http";
import { describe, expect } from "vitest";
import { day, hour, minute } from "../../../../common/units.ts";
import { accessTokensLimit } from "../../../../control-plane/services/people/access-tokens.ts";
import { pruneExpired } from "../../../../control-plane/services/people/logins.ts";
import { hashToken } from "../../../../control-plane/domain/tokens.ts";
import type { Role } from "../../../../protocol/roles.ts";
import { callsOf, type Calls } from "../../../helpers/plane/calls.ts";
import { addHeldJob, ask, readRows, setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addRows, addSpec } from "../../../helpers/plane/rows.ts";
import { bearer } from "../../../helpers/people/sign-in.ts";

const { plane, it } = planeForFile();

/** Creates a token and the API as a pipeline calls it. */
async function pipeline(client: Calls, role: Role, name: string = role) {
  const token = await client.call("createAccessToken", { body: { name, role } });
  const headers = bearer(token.access_token);
  return { token, headers, calls: callsOf(plane, headers) };
}

const refusalOf = async (headers: Record<string, string>) =>
  (await ask(plane, "GET", "/api/cli/zones", { headers })).json();

describe("an access token", () => {
  it("is returned once, stored as a hash, and acts for its creator", async ({ client, owner }) => {
    const { token, calls } = await pipeline(client, "viewer", "ci");
    expect(token.access_token).toMatch(/^wlt_[\w-]{43}$/);
    expect(Date.parse(token.expires_at) - Date.parse(token.created_at)).toBe(90 * day);
    const { zones } = await calls.call("listZones");
    expect(zones.map(({ id }) => id)).toEqual([owner.zone]);
    const { access_tokens: listed } = await client.call("listAccessTokens");
    expect(listed).toEqual([
      {
        id: token.id,
        name: "ci",
        prefix: token.access_token.slice(0, 8),
        role: "viewer",
        zones: {},
        configurations: null,
        created_by: token.created_by,
        created_at: token.created_at,
        expires_at: token.expires_at,
        last_used_at: expect.any(String),
        last_used_from: "127.0.0.1",
      },
    ]);
    expect(listed[0]!.last_used_at! >= token.created_at).toBe(true);
    const row = (await readRows(plane, "access_tokens")).find(({ id }) => id === token.id);
    expect(row?.token_hash).toBe(hashToken(token.access_token));
    expect(JSON.stringify(row)).not.toContain(token.access_token);
  });

  it("records its use once a minute", async ({ client }) => {
    const { token, calls } = await pipeline(client, "viewer");
    const read = async () =>
      Date.parse((await calls.call("getCurrentAccessToken")).last_used_at ?? "");
    const before = Date.now();
    await setRows(plane, "access_tokens", { created_at: before - hour }, { id: token.id });
    const first = await read();
    expect(first % minute).toBe(0);
    expect(first).toBeGreaterThan(before - minute - 1);
    await setRows(plane, "access_tokens", { last_used_at: first - minute }, { id: token.id });
    expect(await read()).toBeGreaterThanOrEqual(first);
  });

  it("is refused when it is wrong, revoked or expired, with what to do", async ({ client }) => {
    const { token, headers } = await pipeline(client, "viewer", "old");
    expect(await refusalOf(bearer(`wlt_${"x".repeat(43)}`))).toMatchObject({
      code: "unauthenticated",
      detail: "the access token is wrong or was revoked; create a new one",
    });
    await setRows(plane, "access_tokens", { expires_at: Date.now() - 1 }, { id: token.id });
    expect(await refusalOf(headers)).toMatchObject({
      code: "unauthenticated",
      detail: expect.stringMatching(
        /^the access token "old" expired on \d{4}-\d\d-\d\d; create a new one$/,
      ),
    });
    await client.call("revokeAccessToken", { params: { id: token.id } });
    expect(await refusalOf(headers)).toMatchObject({
      detail: "the access token is wrong or was revoked; create a new one",
    });
  });

  it("ends its open event streams when it is revoked", async ({ client, owner, worker, spec }) => {
    const { token, headers } = await pipeline(client, "viewer");
    const job = await addHeldJob(plane, owner, worker, { spec_id: spec });
    const ended = new Promise<void>((resolve, reject) => {
      const stream = request(`${plane.url}/api/jobs/${job.id}/logs/stream`, { headers });
      stream.once("response", (response) => {
        response.once("data", () => {
          client.call("revokeAccessToken", { params: { id: token.id } }).catch(reject);
        });
        response.once("close", resolve);
        response.on("error", () => undefined);
        response.resume();
      });
      stream.once("error", reject).end();
    });
    await ended;
    expect(await refusalOf(headers)).toMatchObject({ status: 401 });
  });

  it("cannot manage access tokens or logins, even as an admin", async ({ client }) => {
    const { token, calls } = await pipeline(client, "admin");
    const body = { name: "more", role: "viewer" } as const;
    const denied = "403 permission_denied";
    expect(await calls.refusal("createAccessToken", { body })).toBe(denied);
    expect(await calls.refusal("listAccessTokens")).toBe(denied);
    const params = { id: token.id };
    expect(await calls.refusal("revokeAccessToken", { params })).toBe(denied);
    expect(await calls.refusal("listLogins")).toBe(denied);
    expect(await calls.call("getCurrentAccessToken")).toMatchObject({ id: token.id });
    expect(await client.refusal("getCurrentAccessToken")).toBe("404 not_found");
  });

  it("is neither seen nor revoked by another user", async ({ client, otherClient }) => {
    const { token } = await pipeline(client, "viewer");
    const params = { id: token.id };
    expect(await otherClient.refusal("revokeAccessToken", { params })).toBe("404 not_found");
    const { access_tokens } = await otherClient.call("listAccessTokens");
    expect(access_tokens).toEqual([]);
  });

  it("has a name of its own, a role, and an end within a year", async ({ client }) => {
    const create = (body: object) =>
      client.refusal("createAccessToken", {
        body: { name: "ci", role: "viewer", ...body } as never,
      });
    await pipeline(client, "viewer", "ci");
    expect(await create({})).toBe("409 name_taken");
    for (const body of [
      { role: "owner" },
      { name: "" },
      { expires_in_days: 0 },
      { expires_in_days: 366 },
      { expires_in_days: 1.5 },
      { scope: "all" },
    ])
      expect([body, await create({ name: "other", ...body })]).toEqual([
        body,
        "400 invalid_request",
      ]);
    const made = await client.call("createAccessToken", {
      body: { name: "long", role: "viewer", expires_in_days: 365 },
    });
    expect(Date.parse(made.expires_at) - Date.parse(made.created_at)).toBe(365 * day);
  });

  it(`is refused beyond ${accessTokensLimit} of them`, async ({ client, owner }) => {
    for (let index = 0; index < accessTokensLimit; index += 1)
      await addRows(plane.context.store, "access_tokens", row(owner.id, `token ${index}`));
    const body = { name: "one more", role: "viewer" } as const;
    expect(await client.refusal("createAccessToken", { body })).toBe("409 quota_exceeded");
  });

  it("is removed 30 days after its end", async ({ client, owner }) => {
    for (const days of [31, 29, -1]) {
      const token = row(owner.id, `ended ${days} days ago`);
      const expires_at = Date.now() - days * day;
      await addRows(plane.context.store, "access_tokens", { ...token, expires_at });
    }
    await pruneExpired(plane.context);
    const { access_tokens } = await client.call("listAccessTokens");
    expect(access_tokens.map(({ name }) => name).toSorted()).toEqual([
      "ended -1 days ago",
      "ended 29 days ago",
    ]);
  });

  it("is named with its creator in the audit log and in its jobs", async ({ client, spec }) => {
    const { token, calls } = await pipeline(client, "planner", "ci");
    const body = { job_type: "PLAN", configuration_id: spec } as const;
    const job = await calls.call("createJob", { body });
    expect(job.created_by).toBe(`ci (token of ${token.created_by})`);
    await client.call("revokeAccessToken", { params: { id: token.id } });
    const { audit_entries } = await client.call("listAuditEntries");
    expect(audit_entries.map(({ action, actor, target }) => [action, actor, target.name])).toEqual([
      ["access_token.revoke", expect.objectContaining({ name: token.created_by }), "ci"],
      ["job.create", { kind: "access_token", id: token.id, name: job.created_by }, "PLAN"],
      ["access_token.create", expect.objectContaining({ name: token.created_by }), "ci"],
    ]);
    expect(JSON.stringify(audit_entries)).not.toContain(token.access_token);
  });
});

describe("a planner", () => {
  it("plans the configuration's own source, and nothing else", async ({ client, owner, spec }) => {
    const { calls } = await pipeline(client, "planner");
    const source = { type: "inline", files: { "main.tf": "" } } as const;
    const ask = (body: object) =>
      calls.refusal("createJob", { body: { configuration_id: spec, ...body } as never });
    expect(await ask({ job_type: "PLAN" })).toBe("not refused");
    for (const body of [
      { job_type: "PLAN", source },
      { job_type: "DEPLOY" },
      { job_type: "DESTROY" },
      { job_type: "DESTROY_WORKER", configuration_id: undefined, assigned_worker_id: spec },
    ])
      expect([body, await ask(body)]).toEqual([body, "403 permission_denied"]);
    const other = await addSpec(plane.context.store, owner);
    const deployment = await client.call("createJob", {
      body: { job_type: "DEPLOY", configuration_id: other },
    });
    const preview = await client.call("createJob", {
      body: { job_type: "PLAN", configuration_id: other, source },
    });
    for (const { id } of [deployment, preview]) {
      expect(await calls.refusal("cancelJob", { params: { id } })).toBe("403 permission_denied");
      await client.ask("cancelJob", { params: { id } });
      expect(await calls.refusal("retryJob", { params: { id } })).toBe("403 permission_denied");
    }
    const own = await calls.call("createJob", {
      body: { job_type: "PLAN", configuration_id: other },
    });
    await calls.ask("cancelJob", { params: { id: own.id } });
    expect(await calls.call("retryJob", { params: { id: own.id } })).toMatchObject({
      status: "QUEUED",
    });
  });
});

let count = 0;
const row = (owner_id: string, name: string) => ({
  id: `00000000-0000-7000-8000-${String((count += 1)).padStart(12, "0")}`,
  owner_id,
  created_by: owner_id,
  name,
  role: "viewer" as const,
  zones: "{}",
  prefix: "wlt_0000",
  token_hash: `hash ${count}`,
  created_at: 1,
  expires_at: Date.now() + day,
  last_used_at: null,
  last_used_from: null,
});
