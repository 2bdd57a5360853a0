/** Connections to a code host, over HTTP, with a stand-in of Forgejo. */
import { afterAll, beforeAll, expect } from "vitest";
import { startForgejo } from "../../../helpers/hosts/forgejo.ts";
import { follow } from "../../../helpers/hosts/followed.ts";
import { readRows, setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import type { Calls } from "../../../helpers/plane/calls.ts";

let host: Awaited<ReturnType<typeof startForgejo>>;
beforeAll(async () => {
  host = await startForgejo({
    full: ["write:repository", "write:issue"],
    weak: ["read:repository"],
  });
  for (let number = 1; number <= 60; number++) host.addRepository(`ada/infra-${number}`);
});
afterAll(() => host[Symbol.asyncDispose]());

const { it, plane } = planeForFile({ WINDLASS_OUTBOUND_ALLOW: "127.0.0.0/8" });

const connect = (client: Calls, credential = "full", name = "git") =>
  client.call("createConnection", {
    body: { name, kind: "forgejo", base_url: host.url, credential },
  });
const send = (id: string, { headers, body }: { headers: Record<string, string>; body: string }) =>
  fetch(`${plane.url}/api/events/${id}`, { method: "POST", headers, body });
const codeOf = async (response: Response) => {
  const { code } = (await response.json()) as { code: string };
  return `${response.status} ${code}`;
};

it("shows a connection without its secrets, which are nowhere in clear", async ({ client }) => {
  const { webhook_secret, ...made } = await connect(client, "full-and-secret-0a1b2c");
  expect(made).toMatchObject({
    kind: "forgejo",
    base_url: host.url,
    account: null,
    status_name: "windlass",
    poll_seconds: 300,
    events_url: `${plane.url}/api/events/${made.id}`,
    error: null,
  });
  const params = { id: made.id };
  expect(await client.call("getConnection", { params })).toEqual(made);
  expect((await client.call("listConnections")).connections).toEqual([made]);
  for (const secret of [webhook_secret, "full-and-secret-0a1b2c"])
    expect(await plane.holds(secret)).toEqual([]);
  expect(await client.refusal("createConnection", { body: { ...made, name: "git" } })).toBe(
    "400 invalid_request",
  );
  await expect(connect(client)).rejects.toThrow('the connection "git" already exists');
});

it("refuses addresses and credentials that do not fit its kind, and changes nothing", async ({
  client,
}) => {
  const base = { name: "x", kind: "forgejo", credential: "t" } as const;
  const refusal = (body: object) => client.refusal("createConnection", { body: body as never });
  expect(await refusal(base)).toBe("400 invalid_request");
  expect(await refusal({ ...base, base_url: "https://u:p@host" })).toBe("400 invalid_request");
  expect(await refusal({ ...base, base_url: "http://10.0.0.1" })).toBe(
    "422 destination_not_allowed",
  );
  expect(await refusal({ ...base, base_url: "https://169.254.169.254" })).toBe(
    "422 destination_not_allowed",
  );
  expect(
    await refusal({ ...base, kind: "bitbucket", base_url: "https://bitbucket.example.com" }),
  ).toBe("400 invalid_request");
  expect(await refusal({ name: "x", kind: "github" })).toBe("400 invalid_request");
  expect(await refusal({ ...base, kind: "github_app" })).toBe("400 invalid_request");
  expect(
    await refusal({ name: "x", kind: "github_app", app: { id: "1", private_key: "no key" } }),
  ).toBe("400 invalid_request");
  expect((await client.call("listConnections")).connections).toEqual([]);
});

it("says what a credential may do, and what each missing permission prevents", async ({
  client,
}) => {
  const { id } = await connect(client, "weak");
  const params = { id };
  const { account, permissions, warnings } = await client.call("checkConnection", { params });
  expect(account).toBe("windlass-bot");
  expect(permissions.map(({ name, present }) => [name, present])).toEqual([
    ["read:repository", true],
    ["write:repository", false],
    ["write:issue", false],
  ]);
  expect(warnings[0]).toMatch(/runners receive this credential/);
  expect(await client.call("getConnection", { params })).toMatchObject({ account });
  await client.call("updateConnection", {
    params,
    body: { credential: "full", clone_credential: "clone" },
  });
  const after = await client.call("checkConnection", { params });
  expect(after.permissions.every(({ present }) => present)).toBe(true);
  expect(after.warnings).toEqual([]);
});

it("keeps what went wrong until something succeeds", async ({ client }) => {
  const { id } = await connect(client, "revoked");
  const params = { id };
  expect(await client.refusal("checkConnection", { params })).toBe("424 host_unavailable");
  const { error } = await client.call("getConnection", { params });
  expect(error?.message).toBe("the host rejects the credential: it is wrong, revoked or expired");
  for (const [answer, message] of [
    [{ status: 429, headers: { "retry-after": "7" } }, /rate limit/],
    [{ status: 200, text: "<html>" }, /not JSON/],
    [{ status: 302, headers: { location: "http://127.0.0.1:1/" } }, /redirects/],
    [{ status: 500 }, /answers 500/],
  ] as const) {
    host.fault.answer = answer;
    await expect(client.call("checkConnection", { params })).rejects.toThrow(message);
  }
  delete host.fault.answer;
  await client.call("updateConnection", { params, body: { credential: "full" } });
  await client.call("checkConnection", { params });
  expect(await client.call("getConnection", { params })).toMatchObject({ error: null });
});

it("lists what it reaches, page by page", async ({ client }) => {
  const params = { id: (await connect(client)).id };
  const all = await client.call("listConnectionRepositories", { params });
  expect(all).toMatchObject({ next_cursor: null });
  expect(all.repositories).toHaveLength(60);
  const first = await client.call("listConnectionRepositories", { params, query: { limit: 40 } });
  const cursor = first.next_cursor!;
  const rest = await client.call("listConnectionRepositories", {
    params,
    query: { limit: 40, cursor },
  });
  expect([...first.repositories, ...rest.repositories]).toEqual(all.repositories);
});

it("registers a webhook once, with the newest secret, or says what to paste", async ({
  client,
}) => {
  const { id, webhook_secret } = await connect(client);
  const params = { id };
  const repository = "ada/infra-1";
  for (const _ of [1, 2])
    await client.call("addConnectionWebhook", { params, body: { repository } });
  const { hooks } = host.repositories[0]!;
  expect(hooks).toEqual([{ id: 1, url: `${plane.url}/api/events/${id}`, secret: webhook_secret }]);
  const { id: weak } = await connect(client, "weak", "weak");
  const refused = client.call("addConnectionWebhook", {
    params: { id: weak },
    body: { repository },
  });
  await expect(refused).rejects.toThrow(`address ${plane.url}/api/events/${weak}`);
});

it("takes the events that the host signed, each once", async ({ client }) => {
  const { id, webhook_secret } = await connect(client);
  const event = host.event("push", { repository: { id: 1 } }, webhook_secret);
  expect((await send(id, event)).status).toBe(202);
  const params = { id };
  const { last_event_at } = await client.call("getConnection", { params });
  expect(last_event_at).not.toBeNull();
  expect((await send(id, event)).status).toBe(202);
  expect(await client.call("getConnection", { params })).toMatchObject({ last_event_at });
  const { "x-gitea-signature": _, ...onlyGithub } = event.headers;
  for (const forged of [
    host.event("push", { repository: { id: 1 } }, "another"),
    host.event("push", { repository: { id: 1 } }, ""),
    { ...event, body: `${event.body} ` },
    { ...event, headers: onlyGithub },
  ])
    expect(await codeOf(await send(id, forged as typeof event))).toBe("401 invalid_signature");
});

it("looks at once for an event of a followed repository, and at none of another one", async ({
  client,
  owner,
}) => {
  const { repository, connection, configure, look, open, stored } = await follow(
    plane,
    host,
    client,
    owner,
  );
  await configure("network", {}, { commands: true });
  open(1, ["network/a.tf"]);
  await look();
  const { webhook_secret } = await client.call("rotateConnectionSecret", {
    params: { id: connection },
    body: { overlap_seconds: 0 },
  });
  const { poll_at: before } = await stored();
  const event = (payload: object) =>
    send(connection, host.event("push", payload, webhook_secret)).then(({ status }) => status);
  const own = { repository: { id: repository.id } };
  const comment = (body: string, action = "created") => ({
    ...own,
    action,
    is_pull: true,
    issue: { number: 1 },
    comment: {
      id: 71,
      body,
      created_at: new Date().toISOString(),
      user: { id: 3, login: "grace" },
    },
  });
  for (const nothing of [{}, { repository: { id: 9999 } }, comment("looks good")])
    expect(await event(nothing)).toBe(202);
  expect((await stored()).poll_at).toBe(before);
  // Our own comment was deleted.
  await setRows(
    plane,
    "pull_requests",
    { comment_id: "71", post_at: null },
    { connection_id: connection },
  );
  expect(await event(comment("", "deleted"))).toBe(202);
  const [pull] = await readRows(plane, "pull_requests", { connection_id: connection });
  expect([pull!.comment_id, pull!.post_at]).not.toContain("71");
  expect((await stored()).poll_at).toBe(before);
  for (const something of [own, comment("windlass plan")]) {
    await setRows(plane, "connections", { poll_at: before }, { id: connection });
    expect(await event(something)).toBe(202);
    const { poll_at, last_poll_at } = await stored();
    expect(poll_at).toBeLessThan(before);
    // Many events start few looks.
    expect(poll_at - last_poll_at!).toBeGreaterThanOrEqual(3000);
  }
});

it("takes the old secret during the overlap only", async ({ client }) => {
  const { id, webhook_secret: old } = await connect(client);
  const params = { id };
  const rotate = async (overlap_seconds: number) =>
    (await client.call("rotateConnectionSecret", { params, body: { overlap_seconds } }))
      .webhook_secret;
  const statusWith = async (secret: string) =>
    (await send(id, host.event("push", { n: secret }, secret))).status;
  const next = await rotate(3600);
  expect([await statusWith(old), await statusWith(next)]).toEqual([202, 202]);
  const last = await rotate(0);
  expect([await statusWith(next), await statusWith(last)]).toEqual([401, 202]);
});

it("refuses an address that sends many wrong signatures, and unknown connections", async ({
  client,
}) => {
  const unknown = "00000000-0000-7000-8000-000000000000";
  const event = host.event("push", {}, "x");
  expect(await codeOf(await send(unknown, event))).toBe("404 not_found");
  const { id } = await connect(client);
  for (let sent = 0; sent < 10; sent++) expect((await send(id, event)).status).toBe(401);
  expect(await codeOf(await send(id, event))).toBe("429 too_many_requests");
  const other = await connect(client, "full", "other");
  expect((await send(other.id, host.event("push", {}, other.webhook_secret))).status).toBe(202);
});

it("is found and changed only by members who may", async ({ client, otherClient }) => {
  const { id } = await connect(client);
  const params = { id };
  expect(await otherClient.refusal("getConnection", { params })).toBe("404 not_found");
  expect(await otherClient.refusal("checkConnection", { params })).toBe("404 not_found");
  expect(await otherClient.refusal("deleteConnection", { params })).toBe("404 not_found");
  await client.call("deleteConnection", { params });
  expect(await client.refusal("getConnection", { params })).toBe("404 not_found");
});
