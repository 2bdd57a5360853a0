/**
 * The addresses from which terraform reads its credentials, as AWS SDKs do in containers. Any
 * process here can connect, so a connection costs no more than its bytes: with Node's server, 500
 * connections of 1,000 requests each end a process of 48 MiB.
 */
import { createHash } from "node:crypto";
import { equalSecrets } from "../../../common/equal-secrets.ts";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { credentialsPath, loopback, tokenPath } from "./endpoint-address.ts";
import type { Handout } from "./listener-messages.ts";

/** To all ports together. Beyond this number, the oldest idle one is closed. */
const mostConnections = 500;
/** Bytes of a request, which has no body. */
const requestLimit = 8192;
/** For sending a request, and again for reading the response, in milliseconds. */
const patience = 5000;

/** Returns credentials, valid for `life` milliseconds from now, or why there are none. */
export type Current = () => Promise<Handout | string>;

/**
 * Listens on the port; returns the function that closes it. Without a token, every request is
 * refused.
 */
export async function serveCredentials(
  port: number,
  token: string | undefined,
  current: Current,
): Promise<() => void> {
  const expected = token === undefined ? undefined : digest(token);
  const own = new Set<Socket>();
  const server = createServer((socket) => {
    own.add(socket);
    limitConnections(socket);
    socket.on("error", () => {});
    socket.once("close", () => own.delete(socket));
    void serve(socket, (request) => answer(expected, current, socket, request));
  });
  server.listen(port, loopback);
  await once(server, "listening");
  return () => {
    server.close();
    for (const socket of own) socket.destroy();
  };
}

const open = new Set<Socket>();
/** Those of a job that waits for new credentials. */
const waiting = new Set<Socket>();

function limitConnections(socket: Socket): void {
  open.add(socket);
  socket.once("close", () => open.delete(socket));
  if (open.size <= mostConnections) return;
  const [oldest] = open;
  ([...open].find((one) => one !== socket && !waiting.has(one)) ?? oldest)?.destroy();
}

interface Answer {
  readonly status: string;
  readonly body: object;
}

async function serve(socket: Socket, answer: (request: string) => Promise<Answer>): Promise<void> {
  const request = await read(socket);
  if (request === undefined) return;
  const { status, body } = await answer(request);
  const text = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${status}`,
    "content-type: application/json",
    "cache-control: no-store",
    `content-length: ${Buffer.byteLength(text)}`,
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${text}`);
  destroyAfter(socket);
}

/** Returns the request's line and headers; undefined if the connection ended before. */
function read(socket: Socket): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const timer = destroyAfter(socket);
  let bytes = Buffer.alloc(0);
  socket.on("data", (more: Buffer) => {
    // A chunk has up to 64 KiB. A string of it would keep all of it in memory.
    bytes = Buffer.concat([bytes, more.subarray(0, requestLimit)]);
    const end = bytes.indexOf("\r\n\r\n");
    if (end < 0 && bytes.length < requestLimit) return;
    clearTimeout(timer);
    // Nothing more of this connection is read.
    socket.pause().removeAllListeners("data");
    if (end < 0) socket.destroy();
    else resolve(bytes.toString("latin1", 0, end + 2));
  });
  socket.once("close", () => resolve(undefined));
  return promise;
}

function destroyAfter(socket: Socket): NodeJS.Timeout {
  const timer = setTimeout(() => socket.destroy(), patience);
  socket.once("close", () => clearTimeout(timer));
  return timer;
}

async function answer(
  expected: Buffer | undefined,
  current: Current,
  socket: Socket,
  request: string,
): Promise<Answer> {
  if (expected === undefined) return refusal("503 Service Unavailable", "NoCredentials", abandoned);
  // AWS SDKs send the password alone, others as a Bearer token.
  const [, sent = ""] = /^authorization:(.*)$/im.exec(request) ?? [];
  const given = sent.trim().replace(/^bearer[ \t]+/i, "");
  if (!equalSecrets(digest(given), expected))
    return refusal("403 Forbidden", "AccessDenied", "the token of the job is missing or wrong");
  const [, method, target = ""] = /^(\S+) (\S+) HTTP\/1\.[01]\r\n/.exec(request) ?? [];
  const { pathname: path, searchParams: query } = URL.parse(target, "http://x") ?? new URL("x:");
  if (path !== credentialsPath && path !== tokenPath) return nothingElse;
  if (method !== "GET")
    return refusal("405 Method Not Allowed", "MethodNotAllowed", "read the credentials with GET");
  waiting.add(socket);
  const found = await current().finally(() => waiting.delete(socket));
  if (typeof found === "string") {
    const message = `the agent has no credentials: ${found}`;
    return refusal("503 Service Unavailable", "NoCredentials", message);
  }
  return path === credentialsPath ? credentialsIn(found) : tokenIn(found, query.get("audience"));
}

function credentialsIn(found: Handout): Answer {
  if ("token" in found) return nothingElse;
  const body = {
    AccessKeyId: found.accessKeyId,
    SecretAccessKey: found.secretAccessKey,
    Token: found.sessionToken,
    // By this machine's clock, because terraform compares the time with it.
    Expiration: new Date(Date.now() + found.life).toISOString(),
  };
  return { status: "200 OK", body };
}

/** As GitHub answers the jobs of its Actions, which is what the providers of Azure expect. */
function tokenIn(found: Handout, audience: string | null): Answer {
  if (!("token" in found)) return nothingElse;
  if (audience !== null && audience !== found.audience) {
    const message = `the cloud identity of this job is for the audience ${found.audience} only`;
    return refusal("403 Forbidden", "AudienceNotAllowed", message);
  }
  return { status: "200 OK", body: { value: found.token } };
}

const abandoned =
  "the process that held this address has ended, and another one may have read the password since: " +
  "this command gets no more credentials";

/** AWS SDKs print `code` and `message`. */
const refusal = (status: string, code: string, message: string): Answer => ({
  status,
  body: { code, message },
});

const nothingElse = refusal(
  "404 Not Found",
  "NotFound",
  "this address has only the credentials of the job",
);

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
