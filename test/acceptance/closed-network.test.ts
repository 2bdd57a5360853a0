/** A server in a network that is left only through a proxy, where everything has a private authority. */
import { createServer } from "node:https";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startForgejo } from "../helpers/hosts/forgejo.ts";
import { folderForFile } from "../helpers/machine/folders.ts";
import { makeCertificate } from "../helpers/network/certificate.ts";
import { serveTls, startConnectProxy } from "../helpers/network/connect-proxy.ts";
import { listen, type Listening } from "../helpers/network/listen.ts";
import { callsOf } from "../helpers/plane/calls.ts";
import { newLink, spawnServer } from "../helpers/plane/server-process.ts";
import { skipAt } from "../helpers/project/tools.ts";
import { lackOfS3, s3Credentials, startS3 } from "../helpers/store/s3-server.ts";

skipAt(lackOfS3);

const place = folderForFile();
// Only the proxy resolves these names.
const names = ["s3.example.test", "git.example.test", "sign-in.example.test"] as const;
const { file, tls } = makeCertificate(place, ...names);
const at = (name: (typeof names)[number], { port }: Listening) => `https://${name}:${port}`;

/** Discovered as GitLab is; it knows no code. */
const startIssuer = () =>
  listen(
    createServer(tls, ({ url = "", headers }, response) => {
      const issuer = `https://${headers.host}`;
      const isToken = url === "/token";
      response.writeHead(isToken ? 400 : 200, { "content-type": "application/json" });
      const discovered = {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
      };
      response.end(JSON.stringify(isToken ? { error: "invalid_grant" } : discovered));
    }),
  );

async function signIn(directory: string, url: string) {
  const opened = await fetch(url + (await newLink(directory)), { redirect: "manual" });
  const cookie = opened.headers.get("set-cookie")?.split(";")[0] ?? "";
  return callsOf({ url }, { cookie, origin: url });
}

test("S3, code hosts and sign-in providers are reached through the proxy, with the authorities of SSL_CERT_FILE", async () => {
  await using s3 = await startS3("blobs");
  await using host = await startForgejo({ token: ["write:repository", "write:issue"] });
  await using tlsS3 = await serveTls(tls, s3.url);
  await using tlsHost = await serveTls(tls, host.url);
  await using issuer = await startIssuer();
  await using proxy = await startConnectProxy();
  const settings = {
    SSL_CERT_FILE: file,
    // As curl and git take it too.
    HTTPS_PROXY: `127.0.0.1:${proxy.port}`,
    WINDLASS_ARTIFACTS_URL: "s3://blobs",
    WINDLASS_S3_PATH_STYLE: "1",
    AWS_ENDPOINT_URL_S3: at("s3.example.test", tlsS3),
    AWS_REGION: "us-east-1",
    ...s3Credentials,
    GITLAB_CLIENT_ID: "client",
    GITLAB_CLIENT_SECRET: "client-secret",
    GITLAB_BASE_URL: at("sign-in.example.test", issuer),
  };
  const directory = join(place, "data");
  mkdirSync(directory);
  const base_url = at("git.example.test", tlsHost);
  const body = { name: "git", kind: "forgejo", base_url, credential: "token" } as const;
  const began = async (url: string) =>
    fetch(`${url}/api/auth/login/gitlab`, { redirect: "manual" });
  {
    await using server = spawnServer(directory, settings);
    const url = await server.ready;
    expect(proxy.tunnels).toContain(`s3.example.test:${tlsS3.port}`);

    const client = await signIn(directory, url);
    const refused = { ...body, base_url: `https://localhost:${tlsHost.port}` };
    expect(await client.refusal("createConnection", { body: refused })).toBe(
      "422 destination_not_allowed",
    );
    const { id } = await client.call("createConnection", { body });
    const { account } = await client.call("checkConnection", { params: { id } });
    expect(account).toBe("windlass-bot");
    expect(proxy.tunnels).toContain(`git.example.test:${tlsHost.port}`);
    expect(proxy.tunnels).not.toContain(`localhost:${tlsHost.port}`);

    const start = await began(url);
    expect(start.status).toBe(303);
    const to = new URL(start.headers.get("location") ?? "");
    expect(to.host).toBe(`sign-in.example.test:${issuer.port}`);
    const cookie = start.headers.get("set-cookie")?.split(";")[0] ?? "";
    const query = new URLSearchParams({ code: "any", state: to.searchParams.get("state") ?? "" });
    const end = await fetch(`${url}/api/auth/callback?${query.toString()}`, {
      headers: { cookie },
    });
    expect(await end.text()).toContain("GitLab refused the sign-in");
    expect(proxy.tunnels).toContain(to.host);
  }
  // Without S3, which a server needs to become ready.
  const { WINDLASS_ARTIFACTS_URL: _, SSL_CERT_FILE, ...others } = settings;
  {
    await using server = spawnServer(directory, others);
    const url = await server.ready;
    const client = await signIn(directory, url);
    const { connections } = await client.call("listConnections");
    const params = { id: connections[0]?.id ?? "" };
    await expect(client.call("checkConnection", { params })).rejects.toThrow("self-signed");
    expect((await began(url)).status).toBe(424);
  }
  {
    proxy.tunnels.length = 0;
    const direct = { ...others, SSL_CERT_FILE, NO_PROXY: "localhost,.example.test" };
    await using server = spawnServer(directory, direct);
    const url = await server.ready;
    expect((await began(url)).status).toBe(424);
    expect(proxy.tunnels).toEqual([]);
  }
});

test.each([
  [{ HTTPS_PROXY: "user:planted@proxy:port" }, "HTTPS_PROXY is not a proxy address"],
  [{ SSL_CERT_FILE: join(place, "key.pem") }, "contains no certificate"],
  [
    { HTTPS_PROXY: "socks5://127.0.0.1:1", WINDLASS_ARTIFACTS_URL: "s3://blobs" },
    "must be an http or https proxy",
  ],
])("a server does not start with %j", async (settings, words) => {
  await using server = spawnServer(join(place, "refused"), settings);
  expect(await server.exited).toBe(78);
  expect(server.log()).toContain(words);
  expect(server.log()).not.toContain("planted");
  await expect(server.ready).rejects.toThrow("78");
});
