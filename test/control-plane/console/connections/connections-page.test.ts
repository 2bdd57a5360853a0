import { afterAll, beforeAll, describe, expect } from "vitest";
import { attributes, texts, words } from "../../../helpers/console/forms.ts";
import { startForgejo } from "../../../helpers/hosts/forgejo.ts";
import { follow } from "../../../helpers/hosts/followed.ts";
import { openTeam } from "../../../helpers/people/teams.ts";
import { setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { openSampleUser } from "../../../helpers/plane/sample-data.ts";

const { plane, it } = planeForFile({ WINDLASS_OUTBOUND_ALLOW: "127.0.0.0/8" });
let host: Awaited<ReturnType<typeof startForgejo>>;
beforeAll(async () => {
  host = await startForgejo({
    full: ["read:repository", "write:repository", "write:issue"],
    reading: ["read:repository"],
  });
});
afterAll(() => host[Symbol.asyncDispose]());

describe("a new connection", () => {
  it("shows its webhook secret once, and says what a missing permission prevents", async () => {
    const user = await openSampleUser(plane);
    const fields = { name: "gitea", kind: "forgejo", base_url: host.url, credential: "reading" };
    const made = await user.post("/connections/new", fields);
    expect(made.status).toBe(200);
    expect(words(made)).toContain("is shown only now");
    const [secret = ""] = texts(made, "#secret");
    expect(secret).toMatch(/^wlwh/);
    const { connections } = await user.client.call("listConnections");
    const path = `/connections/${connections[0]?.id}`;
    expect((await user.page(path)).text).not.toContain(secret);

    const checked = await user.post(`${path}/check`);
    expect(words(checked)).toContain("What windlass-bot may do");
    expect(texts(checked, "tbody tr")).toEqual([
      expect.stringMatching(/^read:repository Present Reading/),
      expect.stringMatching(/^write:repository Missing Statuses on commits/),
      expect.stringMatching(/^write:issue Missing Comments/),
    ]);
  });

  it("is one of the team whose page it was made on", async () => {
    const { admin, slug, calls } = await openTeam(plane);
    const list = await admin.page(`/connections?team=${slug}`);
    const [form = ""] = attributes(list, ".actions a");
    expect(form).toBe(`/connections/new?team=${slug}`);
    const page = await admin.page(form);
    const [action = ""] = attributes(page, "form.by-kind", "action");
    const made = await admin.post(action, { name: "gitlab", kind: "gitlab", credential: "t" });
    expect(made.status).toBe(200);
    expect((await calls.call("listConnections")).connections).toHaveLength(1);
    expect((await admin.client.call("listConnections")).connections).toEqual([]);
    const { text } = await admin.page(`/pull-requests?team=${slug}`);
    expect(attributes(text, ".empty a")).toEqual([`/connections?team=${slug}`]);
  });

  it("does not show a secret again after a refusal", async () => {
    const user = await openSampleUser(plane);
    const fields = { name: "", kind: "gitlab", credential: "planted", private_key: "planted" };
    const refused = await user.post("/connections/new", fields);
    expect(refused.status).toBe(400);
    expect(refused.text).not.toContain("planted");
  });
});

describe("a connection", () => {
  it("is changed, gets a new secret, registers a webhook and is deleted", async () => {
    const user = await openSampleUser(plane);
    const { repository, connection } = await follow(plane, host, user.client, user.owner);
    const path = `/connections/${connection}`;
    const read = () => user.client.call("getConnection", { params: { id: connection } });

    const before = await read();
    const change = { name: "renamed", poll_seconds: "600", status_name: "" };
    expect((await user.post(path, change)).status).toBe(303);
    expect(await read()).toMatchObject({
      name: "renamed",
      poll_seconds: 600,
      status_name: before.status_name,
    });

    const rotated = await user.post(`${path}/rotate`, { overlap_seconds: "0" });
    const [secret] = texts(rotated, "#secret");
    const registered = await user.post(`${path}/webhooks`, { repository: repository.full_name });
    expect(words(registered)).toContain(`The webhook of ${repository.full_name} is registered.`);
    expect(repository.hooks).toMatchObject([{ secret }]);
    const none = await user.post(`${path}/webhooks`, { repository: "ada/none" });
    expect(none.status).toBe(409);
    expect(words(none)).toContain("Add a webhook to ada/none by hand");

    expect(words(await user.page(`${path}/repositories`))).toContain(repository.full_name);
    expect((await user.post(`${path}/delete`)).headers["location"]).toBe("/connections");
    expect((await user.page(path)).status).toBe(404);
  });

  it("names the configurations that follow through it, and cannot be deleted then", async () => {
    const user = await openSampleUser(plane);
    const { connection, configure } = await follow(plane, host, user.client, user.owner);
    const id = await configure("network");
    const path = `/connections/${connection}`;
    const page = await user.page(path);
    expect(attributes(page, "td a")).toEqual([`/configurations/${id}/settings#follow`]);
    expect(attributes(page, "form", "action")).not.toContain(`${path}/delete`);
    const refused = await user.post(`${path}/delete`);
    expect(refused.status).toBe(409);
    expect(words(refused)).toContain('The configuration "network" follows a branch through it');
  });

  it("that fails says why, here and first on the overview", async () => {
    const user = await openSampleUser(plane);
    const { connection } = await follow(plane, host, user.client, user.owner);
    const path = `/connections/${connection}`;
    expect(words(await user.page("/"))).not.toContain("Needs you");
    const error = { error: "the token was revoked", error_since: Date.now() - 3_600_000 };
    await setRows(plane, "connections", error, { id: connection });
    for (const address of ["/", path])
      expect(words(await user.page(address))).toMatch(/the token was revoked/i);
    const overview = await user.page("/");
    expect(words(overview)).toContain("The connection has been failing for 1 h");
    expect(attributes(overview, ".inbox .button")).toEqual([path]);
    expect(texts(await user.page("/connections"), ".badge")).toEqual(["Failing"]);
  });

  it("without an answering host still has a page of its repositories", async () => {
    const user = await openSampleUser(plane);
    const { connection } = await follow(plane, host, user.client, user.owner);
    host.fault.answer = { status: 500 };
    try {
      const page = await user.page(`/connections/${connection}/repositories`);
      expect(page.status).toBe(424);
      expect(texts(page, ".error")).toEqual([expect.stringContaining("500")]);
    } finally {
      delete host.fault.answer;
    }
  });
});
