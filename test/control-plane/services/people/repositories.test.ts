import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { codeHosts, type CodeHost } from "../../../../control-plane/domain/providers.ts";
import { signInWithAccount } from "../../../../control-plane/services/people/accounts.ts";
import { callsOf } from "../../../helpers/plane/calls.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { clientHeaders, setRows } from "../../../helpers/plane/plane.ts";
import { sendJson, serve } from "../../../helpers/people/providers.ts";
import { origin } from "../../../helpers/people/sign-in.ts";

/** How many repositories the host has. */
const count = 250;
const numbers = Array.from({ length: count }, (_, index) => count - index);
type HostHandler = (request: IncomingMessage, response: ServerResponse, url: URL) => void;

let host: { url: string; close(): Promise<void> };
let answer: HostHandler;
let seen: { path: string; authorization: string | undefined }[];
beforeAll(async () => {
  host = await serve((address) => (incoming, response) => {
    const url = new URL(incoming.url ?? "", address);
    seen.push({ path: url.pathname + url.search, authorization: incoming.headers.authorization });
    answer(incoming, response, url);
  });
});
afterAll(() => host.close());
const { plane } = planeForFile(() =>
  Object.fromEntries(
    codeHosts.flatMap((name) => [
      [`${name.toUpperCase()}_CLIENT_ID`, "client"],
      [`${name.toUpperCase()}_CLIENT_SECRET`, "secret"],
      [`${name.toUpperCase()}_BASE_URL`, host.url],
    ]),
  ),
);
beforeEach(() => {
  seen = [];
  answer = honest;
});

/** Serves the three ways of paging, by their paths. */
const honest: HostHandler = (_, response, url) => {
  const query = url.searchParams;
  if (url.pathname === "/api/v3/user/repos") {
    const [page, size] = [Number(query.get("page") ?? 1), Number(query.get("per_page"))];
    if (page * size < count) {
      query.set("page", String(page + 1));
      response.setHeader("link", `<${url.href}>; rel="next", <${url.href}>; rel="last"`);
    }
    const list = numbers.slice((page - 1) * size, page * size);
    return sendJson(
      response,
      list.map((id) => ({
        id,
        full_name: `ada/r${id}`,
        clone_url: `https://github.com/ada/r${id}.git`,
        default_branch: "main",
        private: true,
      })),
    );
  }
  if (url.pathname === "/api/v4/projects") {
    const before = Number(query.get("id_before") ?? Infinity);
    const left = numbers.filter((id) => id < before);
    const list = left.slice(0, Number(query.get("per_page")));
    if (list.length < left.length) {
      query.set("id_before", String(list.at(-1)));
      response.setHeader("link", `<${url.href}>; rel="next"`);
    }
    return sendJson(
      response,
      list.map((id) => ({
        id,
        path_with_namespace: `ada/r${id}`,
        http_url_to_repo: `https://gitlab.com/ada/r${id}.git`,
        default_branch: null,
        visibility: "internal",
      })),
    );
  }
  if (url.pathname === "/2.0/repositories") {
    const [page, size] = [Number(query.get("page") ?? 1), Number(query.get("pagelen"))];
    query.set("page", String(page + 1));
    return sendJson(response, {
      ...(page * size < count ? { next: url.href } : {}),
      values: numbers.slice((page - 1) * size, page * size).map((id) => ({
        uuid: `{${id}}`,
        full_name: `ada/r${id}`,
        is_private: false,
        mainbranch: { name: "main" },
        links: { clone: [{ name: "https", href: `https://bitbucket.org/ada/r${id}.git` }] },
      })),
    });
  }
  return sendJson(response, {}, 404);
};

interface Tokens {
  readonly token?: string;
  readonly expires_in?: number;
  readonly refresh?: string;
  readonly scope?: string;
}

/** A signed-in user with an account at the host. */
async function person(provider: CodeHost, tokens: Tokens = {}, subject: string = randomUUID()) {
  const caller = await signInWithAccount(
    plane.context,
    {
      provider,
      subject,
      email: "ada@example.com",
      verified: ["ada@example.com"],
      tokens: {
        access_token: tokens.token ?? "first-token",
        refresh_token: tokens.refresh,
        expires_in: tokens.expires_in,
        scope: tokens.scope,
        subject: undefined,
      },
    },
    undefined,
    origin,
  );
  if (caller === "someone_else") throw new Error("the account is taken");
  return callsOf(plane, await clientHeaders(plane, { id: caller.user_id } as never));
}
const of = (git_provider: string, query: { limit?: number; cursor?: string } = {}) =>
  ({ params: { git_provider }, query }) as const;

describe.each(codeHosts)("the repositories at %s", (name) => {
  test("are listed whole or in pages, in as many requests as the host has pages", async () => {
    const { call } = await person(name);
    const all = await call("listRepositories", of(name));
    expect(all.repositories.map(({ full_name }) => full_name)).toEqual(
      numbers.map((id) => `ada/r${id}`),
    );
    expect(all.next_cursor).toBeNull();
    expect(seen).toHaveLength(3);
    expect(new Set(seen.map(({ authorization }) => authorization))).toEqual(
      new Set(["Bearer first-token"]),
    );

    const paged: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page = await call(
        "listRepositories",
        of(name, { limit: 90, ...(cursor ? { cursor } : {}) }),
      );
      paged.push(...page.repositories.map(({ id }) => id));
      cursor = page.next_cursor;
    }
    expect(paged).toEqual(all.repositories.map(({ id }) => id));
    const [first] = all.repositories;
    expect(first).toMatchObject({
      clone_url: `https://${name}.${name === "bitbucket" ? "org" : "com"}/ada/r250.git`,
      default_branch: name === "gitlab" ? null : "main",
      private: name !== "bitbucket",
    });
  });

  test("return 409 without a connected or accepted account, and 424 when the host fails", async () => {
    const other = await person(name === "github" ? "gitlab" : "github");
    expect(await other.refusal("listRepositories", of(name))).toBe("409 provider_not_connected");
    const { refusal } = await person(name);
    const is = () => refusal("listRepositories", of(name));
    for (const status of [401, 403]) {
      answer = (_, response) => sendJson(response, {}, status);
      expect(await is()).toBe("409 provider_token_rejected");
    }
    const failures: HostHandler[] = [
      (_, response) => sendJson(response, {}, 500),
      (_, response) => sendJson(response, {}, 429),
      (_, response) => sendJson(response, { what: "is this" }),
      (_, response) => sendJson(response, [{ id: {} }]),
      (_, response) => void response.end("<html>"),
      (_, response) => void response.destroy(),
      (_, response) => void response.writeHead(302, { location: host.url }).end(),
      (_, response) => void response.setHeader("retry-after", "60").writeHead(403).end("{}"),
      (_, response) => void response.end(Buffer.alloc(9 * 1024 * 1024, " ")),
    ];
    for (const failure of failures) {
      answer = failure;
      expect(await is()).toBe("424 provider_unavailable");
    }
  });
});

test("a host that does not respond in time returns provider_unavailable", async () => {
  const { refusal } = await person("github");
  const settings = plane.context.providers.github;
  Object.assign(plane.context.providers, { github: { ...settings, timeoutMilliseconds: 50 } });
  answer = (_, response) => void sleep(300).then(() => sendJson(response, []));
  const refused = await refusal("listRepositories", of("github"));
  Object.assign(plane.context.providers, { github: settings });
  expect(refused).toBe("424 provider_unavailable");
});

test("the token is never sent to an address from a response or a cursor", async () => {
  const { call, refusal } = await person("github");
  answer = (_, response) => {
    response.setHeader("link", `<http://127.0.0.1:1/x?page=2&per_page=9>; rel="next"`);
    sendJson(response, []);
  };
  const { next_cursor } = await call("listRepositories", of("github", { limit: 1 }));
  expect(Buffer.from(next_cursor ?? "", "base64url").toString()).toBe("page=2");
  for (const text of ["", "visibility=all", "http://127.0.0.1:1/"]) {
    const cursor = Buffer.from(text).toString("base64url") || "!";
    expect(await refusal("listRepositories", of("github", { cursor }))).toBe("400 invalid_cursor");
  }
});

test("an expired token is refreshed once for concurrent requests, and stored", async () => {
  const { call } = await person("bitbucket", { expires_in: 0, refresh: "the-refresh-token" });
  let refreshes = 0;
  answer = (incoming, response, url) => {
    if (url.pathname !== "/site/oauth2/access_token") return honest(incoming, response, url);
    refreshes += 1;
    sendJson(response, { access_token: "second-token", token_type: "bearer", expires_in: 7200 });
  };
  const list = () => call("listRepositories", of("bitbucket", { limit: 1 }));
  await Promise.all([list(), list(), list()]);
  await list();
  expect(refreshes).toBe(1);
  const asked = seen.filter(({ path }) => path.startsWith("/2.0"));
  expect(asked.map(({ authorization }) => authorization)).toEqual(
    asked.map(() => "Bearer second-token"),
  );
});

test("a refused refresh token is reported as provider_token_rejected", async () => {
  const { refusal } = await person("bitbucket", { expires_in: 0, refresh: "dead" });
  answer = (_, response) => sendJson(response, { error: "invalid_grant" }, 400);
  expect(await refusal("listRepositories", of("bitbucket"))).toBe("409 provider_token_rejected");
});

test("a token that was sealed with a lost key is reported as provider_token_rejected", async () => {
  const { refusal } = await person("github");
  await setRows(plane, "accounts", { access_token: "AAAA" });
  expect(await refusal("listRepositories", of("github"))).toBe("409 provider_token_rejected");
});

test.each([
  ["stays while it lists repositories", 200, "repo, user:email", "user:email", "wide"],
  ["stays while GitHub does not respond", 500, "", "user:email", "wide"],
  ["is replaced if it only signs in", 200, "user:email", "user:email", "new"],
  ["is replaced by one that lists them too", 200, "repo, user:email", "repo,user:email", "new"],
  ["is replaced if it lacks a scope", 200, "repo, user:email", "read:org,user:email", "new"],
  ["is replaced if GitHub refuses it", 401, "", "user:email", "new"],
])("a stored token of GitHub %s", async (_, status, known, scope, kept) => {
  const subject = randomUUID();
  await person("github", { token: "wide", scope: "repo,user:email" }, subject);
  answer = (_request, response) => {
    response.setHeader("x-oauth-scopes", known);
    sendJson(response, {}, status);
  };
  const { call } = await person("github", { token: "new", scope }, subject);
  answer = honest;
  await call("listRepositories", of("github", { limit: 1 }));
  expect(seen.at(-1)?.authorization).toBe(`Bearer ${kept}`);
});

test("an unknown provider returns 404", async () => {
  const { refusal } = await person("github");
  expect(await refusal("listRepositories", of("google"))).toBe("404 not_found");
});
