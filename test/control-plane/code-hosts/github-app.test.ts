/** An App of GitHub: its installation, and its one webhook. */
import { generateKeyPairSync } from "node:crypto";
import { expect, it } from "vitest";
import { openHost } from "../../../control-plane/code-hosts/kinds.ts";
import type { Outbound, OutboundRequest } from "../../../control-plane/outbound/outbound.ts";

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const private_key = privateKey.export({ type: "pkcs1", format: "pem" }).toString();
const api = "https://api.github.com";

/** Opens an App at a host that knows these installations. */
function open(installations: readonly number[], installation_id?: string) {
  const sent: string[] = [];
  const kept: string[] = [];
  const answers: Readonly<Record<string, object>> = {
    "GET /app/installations?per_page=2": installations.map((id) => ({ id })),
    "POST /app/installations/7/access_tokens": {
      token: "t7",
      expires_at: "2099-01-01T00:00:00Z",
    },
    "GET /app": { name: "Windlass", permissions: { contents: "read", statuses: "write" } },
    "PATCH /app/hook/config": {},
    "GET /repositories/1/git/matching-refs/heads/gh-readonly-queue/": [
      { ref: "refs/heads/gh-readonly-queue/main/pr-1-abc", object: { sha: "a".repeat(40) } },
    ],
  };
  const send = (address: string, { method = "GET", body, headers }: OutboundRequest = {}) => {
    const name = `${method} ${address.replace(api, "")}`;
    const by = headers?.["authorization"]?.replace(/Bearer ey.*/, "the App") ?? "no one";
    sent.push(`${name} by ${by}${body === undefined ? "" : ` ${body}`}`);
    const text = JSON.stringify(answers[name] ?? {});
    return Promise.resolve({ status: answers[name] ? 200 : 404, headers: new Headers(), text });
  };
  const opened = openHost(
    { send } as unknown as Outbound,
    { kind: "github_app", api },
    {
      app: {
        id: "12",
        private_key,
        installation_id,
        keepInstallation: (id) => Promise.resolve(void kept.push(id)),
      },
    },
    Date.now,
  );
  return { ...opened, sent, kept };
}

const repository = { id: "1", full_name: "ada/infra" };

it("finds its installation with its own key, and keeps it", async () => {
  const { cloneAccess, sent, kept } = open([7]);
  expect(await cloneAccess("1")).toMatchObject({ username: "x-access-token", token: "t7" });
  await cloneAccess("1");
  expect(kept).toEqual(["7"]);
  const limits = `{"repository_ids":[1],"permissions":{"contents":"read"}}`;
  expect(sent).toEqual([
    "GET /app/installations?per_page=2 by the App",
    `POST /app/installations/7/access_tokens by the App ${limits}`,
    `POST /app/installations/7/access_tokens by the App ${limits}`,
  ]);
});

it("says what is missing while it is not installed, or installed twice", async () => {
  await expect(open([]).host.check()).rejects.toThrow("the App is not installed yet");
  await expect(open([7, 8]).host.check()).rejects.toThrow("set `app.installation_id`");
  // An installation of another App is not found with this one's key.
  await expect(open([7], "8").host.head(repository, "main")).rejects.toThrow("answers 404");
  const { permissions } = await open([7]).host.check();
  expect(permissions.map(({ name, present }) => [name, present])).toEqual([
    ["contents: read", true],
    ["pull_requests: write", false],
    ["statuses: write", true],
  ]);
});

it("registers the one webhook of the App", async () => {
  const { host, sent } = open([7], "7");
  await host.addWebhook(repository, "https://windlass.example.com/api/events/1", "hush");
  expect(sent).toEqual([
    `PATCH /app/hook/config by the App {"url":"https://windlass.example.com/api/events/1","content_type":"json","insecure_ssl":"0","secret":"hush"}`,
  ]);
});

it("names the commits that a merge queue is about to merge", async () => {
  expect(await open([7], "7").host.mergeHeads?.(repository)).toEqual(["a".repeat(40)]);
});
