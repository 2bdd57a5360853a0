import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { request } from "undici";
import {
  endpointEnvironment,
  openEndpoint,
  reopenEndpoint,
} from "../../../../agent/job/credentials/endpoint.ts";
import { RoleSession } from "../../../../agent/job/credentials/role-session.ts";

let over: AbortController;
beforeEach(() => {
  over = new AbortController();
});
afterEach(() => over.abort());

const sessionOf = (life: number | Error): RoleSession =>
  new RoleSession({
    assume: async () => {
      if (life instanceof Error) throw life;
      return { accessKeyId: "AKID", secretAccessKey: "secret", sessionToken: "session", life };
    },
    over: over.signal,
    onCredentials: () => {},
    onTrouble: () => {},
  });

const token = "the-token-of-this-job";
async function ask(port: number, options: { token?: string; method?: string; path?: string } = {}) {
  const { AWS_CONTAINER_CREDENTIALS_FULL_URI: address = "" } = endpointEnvironment({ port, token });
  const url = options.path === undefined ? address : new URL(options.path, address).href;
  const { statusCode, body } = await request(url, {
    method: options.method ?? "GET",
    headers: options.token === undefined ? {} : { authorization: options.token },
  });
  return { status: statusCode, body: (await body.json()) as Record<string, string> };
}

test("a request with the token gets the credentials and their expiry by this machine's clock", async () => {
  const port = await openEndpoint(sessionOf(60_000), token, over.signal);
  const { status, body } = await ask(port, { token });
  expect(status).toBe(200);
  expect(body).toMatchObject({ AccessKeyId: "AKID", SecretAccessKey: "secret", Token: "session" });
  const left = Date.parse(body["Expiration"] ?? "") - Date.now();
  expect(left).toBeGreaterThan(55_000);
  expect(left).toBeLessThanOrEqual(60_000);
});

test("a request without the token gets nothing, whatever its path", async () => {
  const port = await openEndpoint(sessionOf(60_000), token, over.signal);
  for (const wrong of [undefined, "", "x", `${token}x`, token.slice(1), `Bearer ${token}`]) {
    const { status, body } = await ask(port, wrong === undefined ? {} : { token: wrong });
    expect(status).toBe(403);
    expect(JSON.stringify(body)).not.toContain("secret");
  }
  expect((await ask(port, { path: "/" })).status).toBe(403);
  expect((await ask(port, { token, path: "/credentials/x" })).status).toBe(404);
  expect((await ask(port, { token, method: "POST" })).status).toBe(405);
});

test("without credentials the response is 503 with the reason", async () => {
  const port = await openEndpoint(sessionOf(new Error("STS is down")), token, over.signal);
  expect(await ask(port, { token })).toEqual({
    status: 503,
    body: { code: "NoCredentials", message: "the agent has no credentials: STS is down" },
  });
});

test("each job has an endpoint of its own, which is closed when the job ends", async () => {
  const session = sessionOf(60_000);
  const ports = await Promise.all(
    Array.from({ length: 20 }, () => openEndpoint(session, token, over.signal)),
  );
  expect(new Set(ports).size).toBe(20);
  over.abort();
  for (const port of ports) await expect(ask(port, { token })).rejects.toThrow("ECONNREFUSED");
});

test("reopening retries a port that is in use until it is free, and logs that", async () => {
  const port = await openEndpoint(sessionOf(60_000), token, over.signal);
  over.abort();
  over = new AbortController();
  const other = createServer((_, response) => void response.end());
  other.listen(port, "127.0.0.1");
  await once(other, "listening");
  const messages: string[] = [];
  const opened = reopenEndpoint(sessionOf(60_000), { port, token }, over.signal, (text) =>
    messages.push(text),
  );
  await expect.poll(() => messages).toHaveLength(1);
  expect(messages[0]).toContain(
    `127.0.0.1:${port}, from which terraform reads its credentials, cannot be opened`,
  );
  other.close();
  await opened;
  expect(messages).toHaveLength(2);
  expect((await ask(port, { token })).status).toBe(200);
});

test("reopening stops with the job when the port stays in use", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as { port: number };
  const opened = reopenEndpoint(sessionOf(60_000), { port, token }, over.signal, () => {});
  setTimeout(() => over.abort(), 100);
  await opened;
  other.close();
});

test("300 idle connections do not block a request", async () => {
  const port = await openEndpoint(sessionOf(60_000), token, over.signal);
  const idle = await Promise.all(
    Array.from({ length: 300 }, async () => {
      const socket = connect(port, "127.0.0.1");
      socket.on("error", () => undefined);
      await once(socket, "connect");
      return socket;
    }),
  );
  expect((await ask(port, { token })).status).toBe(200);
  for (const socket of idle) socket.destroy();
});
