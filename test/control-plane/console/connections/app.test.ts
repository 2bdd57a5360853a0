/** An App at GitHub, created from a manifest, with a stand-in of the exchange. */
import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { appManifest } from "../../../../control-plane/services/connections/github-app.ts";
import type { Context } from "../../../../control-plane/services/context.ts";
import { attributes, words } from "../../../helpers/console/forms.ts";
import { listen } from "../../../helpers/network/listen.ts";
import { ask, readRow } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { cookieOf } from "../../../helpers/people/sign-in.ts";
import { openSampleUser } from "../../../helpers/plane/sample-data.ts";

const { plane, it } = planeForFile({ WINDLASS_OUTBOUND_ALLOW: "127.0.0.0/8" });

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const pem = privateKey.export({ type: "pkcs1", format: "pem" }).toString();
let host: Awaited<ReturnType<typeof listen>>;
const exchanged: string[] = [];
beforeAll(async () => {
  host = await listen(
    createServer((request, response) => {
      exchanged.push(`${request.method} ${request.url} ${request.headers.authorization ?? "-"}`);
      const isKnown = request.url === "/api/v3/app-manifests/c0de/conversions";
      response.writeHead(isKnown ? 201 : 404, { "content-type": "application/json" });
      const app = { id: 81, name: "Windlass git", pem, webhook_secret: "made-by-github-0a1b" };
      response.end(JSON.stringify(isKnown ? { ...app, html_url: `${host.url}/apps/w` } : {}));
    }),
  );
});
afterAll(() => host[Symbol.asyncDispose]());

type User = Awaited<ReturnType<typeof openSampleUser>>;

/** The user's browser comes back from GitHub. */
const comeBack = (user: User, path: string, query: Record<string, string>, cookie: string) =>
  ask(plane, "GET", `${path}?${new URLSearchParams(query).toString()}`, {
    headers: { ...user.headers, cookie: `${user.headers.cookie}; ${cookie}` },
  });

/** A connection whose user has sent the first form. */
async function begun() {
  const user = await openSampleUser(plane);
  const { id } = await user.client.call("createConnection", {
    body: { name: "git", kind: "github_app", base_url: host.url },
  });
  const path = `/connections/${id}/app`;
  const page = await user.post(path, { organization: "acme" });
  const cookie = cookieOf(page)!;
  const action = new URL(attributes(page, "form[action^=http]", "action")[0]!);
  return { user, id, path, page, cookie, action, state: action.searchParams.get("state")! };
}

it("is created by a manifest, and its keys are stored sealed", async () => {
  const { user, id, path, page, cookie, action, state } = await begun();
  expect(action.href).toBe(
    `${host.url}/organizations/acme/settings/apps/new?state=${encodeURIComponent(state)}`,
  );
  expect(page.headers["content-security-policy"]).toContain(`form-action 'self' ${host.url};`);
  const [manifest = ""] = attributes(page, "input[name=manifest]", "value");
  // GitHub could not reach this server, so there is no webhook.
  expect(JSON.parse(manifest)).toEqual({
    name: "Windlass git",
    url: plane.url,
    redirect_url: `${plane.url}${path}`,
    setup_url: `${plane.url}/connections/${id}`,
    public: false,
    default_permissions: expect.objectContaining({ contents: "read", statuses: "write" }),
  });
  exchanged.length = 0;
  const back = await comeBack(user, path, { code: "c0de", state }, cookie);
  expect([back.status, back.headers["location"]]).toEqual([
    303,
    `${host.url}/apps/w/installations/new`,
  ]);
  expect(exchanged).toEqual(["POST /api/v3/app-manifests/c0de/conversions -"]);
  expect(await user.client.call("getConnection", { params: { id } })).toMatchObject({
    account: "Windlass git",
  });
  const stored = await readRow(plane, "connections", { id });
  expect(stored.secrets).not.toMatch(/made-by-github-0a1b|PRIVATE KEY/);
  for (const secret of ["made-by-github-0a1b", pem.split("\n")[3]!])
    expect(await plane.holds(secret)).toEqual([]);
});

it("is refused unless this browser began it, for this user and connection, once", async () => {
  const mine = await begun();
  const other = await begun();
  exchanged.length = 0;
  const refused = async (
    { user, path }: typeof mine,
    { state, cookie }: Pick<typeof mine, "state" | "cookie">,
    code = "c0de",
  ) => {
    const answer = await comeBack(user, path, { code, state }, cookie);
    expect([answer.status, words(answer)]).toEqual([
      400,
      expect.stringContaining("This browser did not begin to create this App"),
    ]);
  };
  await refused(mine, { ...mine, cookie: "" });
  await refused(mine, { ...mine, state: other.state });
  await refused(mine, other);
  await refused(other, mine);
  await refused(mine, mine, "../../app");
  expect(exchanged).toEqual([]);
  expect((await readRow(plane, "connections", { id: mine.id })).account).toBeNull();
});

test.each([
  ["https://windlass.example.com", true],
  ["http://windlass.example.com", false],
  ["https://windlass", false],
  ["https://windlass.corp.internal", false],
  ["https://203.0.113.7", false],
])("a server at %s has a webhook: %s", (url, hasWebhook) => {
  const context = { publicUrl: () => url } as Context;
  const manifest = appManifest(context, { id: "1", name: "n".repeat(50) } as never);
  expect(manifest).toMatchObject({ name: `Windlass ${"n".repeat(25)}` });
  const hook = { hook_attributes: { url: `${url}/api/events/1`, active: true } };
  if (hasWebhook) expect(manifest).toMatchObject(hook);
  else expect(Object.keys(manifest)).not.toContain("hook_attributes");
});
