/** Following a branch, over HTTP, with a stand-in of Forgejo. */
import { afterAll, beforeAll, expect } from "vitest";
import { startForgejo } from "../../../helpers/hosts/forgejo.ts";
import { addMember, addTeam } from "../../../helpers/people/teams.ts";
import { addTestUser } from "../../../helpers/people/user.ts";
import type { Calls } from "../../../helpers/plane/calls.ts";
import { readRow, readRows } from "../../../helpers/plane/plane.ts";
import type { Owner } from "../../../helpers/plane/rows.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";

let host: Awaited<ReturnType<typeof startForgejo>>;
beforeAll(async () => {
  host = await startForgejo({
    full: ["write:repository", "write:issue"],
    weak: ["read:repository"],
  });
  for (const name of ["infra", "other"]) {
    const { branches } = host.addRepository(`ada/${name}`);
    branches.set("main", "a".repeat(40)).set("next", "b".repeat(40));
  }
});
afterAll(() => host[Symbol.asyncDispose]());

const { it, plane } = planeForFile({ WINDLASS_OUTBOUND_ALLOW: "127.0.0.0/8" });

let names = 0;
const connect = (client: Calls, credential = "full", status_name = `w-${(names += 1)}`) =>
  client.call("createConnection", {
    body: { name: status_name, kind: "forgejo", base_url: host.url, credential, status_name },
  });
const source = (name = "infra") =>
  ({ type: "git", url: `${host.url}/ada/${name}.git`, path: "network" }) as const;
const followed = async (name: string) =>
  (await readRows(plane, "follows", { repository: `ada/${name}` })).length;

it("follows the default branch, and says what plans of pull requests lack", async ({
  client,
  owner,
}) => {
  const { id: connection_id } = await connect(client);
  const made = await client.call("createConfiguration", {
    body: {
      name: "network",
      zone_id: owner.zone,
      source: source(),
      variables: { size: { value: 3 }, password: { value: "x", sensitive: true } },
      follow: { connection_id, trigger_paths: ["modules/**"] },
    },
  });
  expect(made.source).toEqual({ ...source(), ref: "main" });
  expect(made.follow).toEqual({
    connection_id,
    branch: "main",
    repository: "ada/infra",
    seen_commit: null,
    trigger_paths: ["modules/**"],
    pull_requests: "plan",
    push: "plan",
    comment: "changes",
    forks: "off",
    values: "plain",
    commands: false,
    warnings: ["plans of pull requests do not get the values of password"],
  });
  const params = { name: made.id };
  expect((await client.call("getConfiguration", { params })).follow).toEqual(made.follow);
  expect(host.repositories[0]!.hooks.map(({ url }) => url)).toContain(
    `${plane.url}/api/events/${connection_id}`,
  );
  const change = (body: object) => client.call("updateConfiguration", { params, body });
  const next = await change({ follow: { connection_id, branch: "next" } });
  expect([next.follow?.branch, next.source.type === "git" && next.source.ref]).toEqual([
    "next",
    "next",
  ]);
  expect(next.follow?.trigger_paths).toEqual([]);
  expect((await change({ labels: ["a"] })).follow).toEqual(next.follow);
  expect((await change({ follow: null })).follow).toBeNull();
  const { audit_entries } = await client.call("listAuditEntries", {
    query: { target_id: made.id },
  });
  expect(audit_entries.map(({ details }) => details["follow"])).toEqual([
    "ended",
    undefined,
    "ada/infra next",
    "ada/infra main",
  ]);
});

it("stays on the branch, and ends with another address", async ({ client, owner }) => {
  const { id: connection_id } = await connect(client);
  const { id } = await client.call("createConfiguration", {
    body: { name: "a", zone_id: owner.zone, source: source(), follow: { connection_id } },
  });
  const params = { name: id };
  const change = (body: object) => client.call("updateConfiguration", { params, body });
  const moved = await change({ source: { ...source(), path: "dns" } });
  expect(moved).toMatchObject({
    source: { path: "dns", ref: "main" },
    follow: { branch: "main" },
  });
  await expect(change({ source: { ...source(), ref: "v1" } })).rejects.toThrow(/must be main/);
  const there = { params: { id: connection_id } };
  expect(await client.refusal("deleteConnection", there)).toBe("409 connection_in_use");
  expect((await change({ source: source("other") })).follow).toBeNull();
  await client.call("deleteConnection", there);
});

it("refuses what it cannot follow, and changes nothing", async ({ client, otherClient, owner }) => {
  const { id: connection_id } = await connect(client);
  const body = { name: "a", zone_id: owner.zone, source: source() };
  const refusal = (change: object) =>
    client.refusal("createConfiguration", {
      body: { ...body, follow: { connection_id }, ...change },
    });
  const inline = { type: "inline", files: { "main.tf": "" } };
  expect(await refusal({ source: inline })).toBe("400 invalid_request");
  const elsewhere = { type: "git", url: "https://git.example.com/ada/infra" };
  expect(await refusal({ source: elsewhere })).toBe("400 invalid_request");
  expect(await refusal({ source: source("missing") })).toBe("424 host_unavailable");
  expect(await refusal({ follow: { connection_id, branch: "gone" } })).toBe("400 invalid_request");
  expect(await refusal({ follow: { connection_id, trigger_paths: ["!a"] } })).toBe(
    "400 invalid_request",
  );
  host.fault.answer = { status: 503 };
  expect(await refusal({})).toBe("424 host_unavailable");
  delete host.fault.answer;
  const { id: foreign } = await connect(otherClient);
  expect(await refusal({ follow: { connection_id: foreign } })).toBe("404 not_found");
  expect((await client.call("listConfigurations")).configurations).toEqual([]);
});

it("posts under its own name to a repository, also beside another space's connection", async ({
  client,
  otherClient,
  owner,
  otherOwner,
}) => {
  const asking = (zone: Owner, connection_id: string) => ({
    body: {
      name: "a",
      zone_id: zone.zone,
      source: source("shared"),
      follow: { connection_id },
    } as const,
  });
  host.addRepository("ada/shared").branches.set("main", "a".repeat(40));
  const first = await connect(client, "full", "windlass");
  await client.call("createConfiguration", asking(owner, first.id));
  const second = await connect(otherClient, "full", "windlass");
  const asked = asking(otherOwner, second.id);
  expect(await otherClient.refusal("createConfiguration", asked)).toBe("409 status_name_taken");
  const params = { id: second.id };
  await otherClient.call("updateConnection", { params, body: { status_name: "other" } });
  await otherClient.call("createConfiguration", asked);
  const back = { params, body: { status_name: "windlass" } };
  expect(await otherClient.refusal("updateConnection", back)).toBe("409 status_name_taken");
  expect((await otherClient.call("getConnection", { params })).status_name).toBe("other");
});

it("gives values, forks and commands to admins only", async () => {
  const admin = await addTestUser(plane);
  const { slug, calls } = await addTeam(plane, admin);
  const deployer = await addMember(plane, admin, slug, "deployer");
  const { id: connection_id } = await connect(calls);
  const zone = await calls.call("createZone", { body: { name: "z" } });
  const follow = { connection_id };
  const { id } = await deployer.calls.call("createConfiguration", {
    body: { name: "a", zone_id: zone.id, source: source(), follow },
  });
  const params = { name: id };
  for (const more of [{ values: "all" }, { forks: "approved" }, { commands: true }] as const) {
    const asked = { params, body: { follow: { ...follow, ...more } } };
    expect(await deployer.calls.refusal("updateConfiguration", asked)).toBe(
      "403 permission_denied",
    );
    expect((await calls.call("updateConfiguration", asked)).follow).toMatchObject(more);
  }
});

it("warns of a webhook that it may not register, until the first event", async ({
  client,
  owner,
}) => {
  const { id: connection_id, webhook_secret } = await connect(client, "weak");
  const { id, follow } = await client.call("createConfiguration", {
    body: { name: "a", zone_id: owner.zone, source: source(), follow: { connection_id } },
  });
  expect(follow?.warnings[0]).toMatch(/sends no events.*every 300 s.*Add a webhook to ada\/infra/);
  const params = { id: connection_id };
  expect(await client.call("getConnection", { params })).toMatchObject({ error: null });
  const event = host.event("push", {}, webhook_secret);
  await fetch(`${plane.url}/api/events/${connection_id}`, { method: "POST", ...event });
  const after = await client.call("getConfiguration", { params: { name: id } });
  expect(after.follow?.warnings).toEqual([]);
});

it("ends with its configuration, and with a move to another space", async () => {
  const user = await addTestUser(plane);
  const { client, owner } = user;
  const { slug } = await addTeam(plane, user);
  const { id: connection_id } = await connect(client);
  const follow = { connection_id };
  const body = { zone_id: owner.zone, source: source("other"), follow };
  const before = await followed("other");
  await client.call("createConfiguration", { body: { ...body, name: "a" } });
  await client.call("createConfiguration", { body: { ...body, name: "b" } });
  await client.ask("deleteConfiguration", { params: { name: "a" } });
  expect(await followed("other")).toBe(before + 1);
  await client.call("updateZone", { params: { id: owner.zone }, body: { team: slug } });
  expect(await followed("other")).toBe(before);
  await client.call("deleteConnection", { params: { id: connection_id } });
  expect(await readRow(plane, "specs", { name: "b" })).toMatchObject({ zone_id: owner.zone });
});
