/**
 * The endpoint from which a job's terraform reads its credentials: a loopback address for this job,
 * as AWS SDKs use it in containers. Terraform has the address and the token in its environment for
 * as long as it runs, so an agent that adopts it opens the same ones again.
 */
import { createHash, randomInt, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { RoleSession } from "./role-session.ts";

const path = "/credentials";
const host = "127.0.0.1";
/**
 * Below the ports that Linux gives to outgoing connections, so that none of those takes the port
 * while a killed agent is away.
 */
const ports = { from: 20_000, to: 32_000 };
const portTries = 100;
/** Beyond this number, the oldest idle connection is closed. */
const mostConnections = 100;
/** The pause before a taken port is tried again, in milliseconds. */
const retryEvery = 500;

/** The address and the token, which terraform and the next agent need. */
export interface EndpointAddress {
  readonly port: number;
  readonly token: string;
}

/**
 * The variables by which AWS SDKs find the endpoint. The token opens only this endpoint, only on
 * this machine, and only while the job runs.
 */
export const endpointEnvironment = ({ port, token }: EndpointAddress): Record<string, string> => ({
  AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://${host}:${port}${path}`,
  AWS_CONTAINER_AUTHORIZATION_TOKEN: token,
});

/**
 * Opens an endpoint on a free port and returns its address. It is closed when `over` is aborted.
 */
export async function openEndpoint(
  session: RoleSession,
  token: string,
  over: AbortSignal,
): Promise<number> {
  for (let tries = 1; ; tries++) {
    const port = randomInt(ports.from, ports.to);
    try {
      await listen(session, { port, token }, over);
      return port;
    } catch (error) {
      if (!isTaken(error) || tries === portTries) throw error;
    }
  }
}

/**
 * Opens the endpoint of a terraform that is already running. While another process has the port,
 * this is retried, because terraform knows no other address.
 */
export async function reopenEndpoint(
  session: RoleSession,
  address: EndpointAddress,
  over: AbortSignal,
  onTrouble: (text: string) => void,
): Promise<void> {
  const where = `${host}:${address.port}, from which terraform reads its credentials,`;
  for (let tries = 1; !over.aborted; tries++) {
    try {
      await listen(session, address, over);
      if (tries > 1) onTrouble(`${where} is free again; terraform can read its credentials`);
      return;
    } catch (error) {
      if (tries === 1)
        onTrouble(
          `${where} cannot be opened, trying again: ${(error as Error).message}. ` +
            "Terraform gets no new credentials until then",
        );
      await sleep(retryEvery, undefined, { signal: over }).catch(() => {});
    }
  }
}

const isTaken = (error: unknown): boolean =>
  (error as NodeJS.ErrnoException).code === "EADDRINUSE" ||
  (error as NodeJS.ErrnoException).code === "EACCES";

async function listen(
  session: RoleSession,
  { port, token }: EndpointAddress,
  over: AbortSignal,
): Promise<void> {
  over.throwIfAborted();
  const expected = digest(token);
  const server = createServer({ requestTimeout: 5000 }, (request, response) => {
    asking.add(request.socket);
    response.once("close", () => asking.delete(request.socket));
    void answer(session, expected, request, response);
  });
  // Any process of the machine can connect. One that opens idle connections must not keep terraform
  // from connecting.
  const asking = new Set<Socket>();
  const open = new Set<Socket>();
  server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    if (open.size <= mostConnections) return;
    [...open].find((one) => one !== socket && !asking.has(one))?.destroy();
  });
  const opened = Promise.withResolvers<void>();
  server.once("listening", opened.resolve).once("error", opened.reject);
  server.listen(port, host);
  await opened.promise;
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  if (over.aborted) close();
  else over.addEventListener("abort", close, { once: true });
}

async function answer(
  session: RoleSession,
  expected: Buffer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const given = digest(request.headers.authorization ?? "");
  if (!timingSafeEqual(given, expected))
    return send(response, 403, refusal("AccessDenied", "the token of the job is missing or wrong"));
  if (request.url !== path)
    return send(response, 404, refusal("NotFound", "this address has only the credentials"));
  if (request.method !== "GET")
    return send(response, 405, refusal("MethodNotAllowed", "read the credentials with GET"));
  try {
    const { accessKeyId, secretAccessKey, sessionToken } = await session.current();
    send(response, 200, {
      AccessKeyId: accessKeyId,
      SecretAccessKey: secretAccessKey,
      Token: sessionToken,
      // By this machine's clock, because terraform compares the time with it.
      Expiration: new Date(Date.now() + session.left).toISOString(),
    });
  } catch (error) {
    const { message } = error as Error;
    send(response, 503, refusal("NoCredentials", `the agent has no credentials: ${message}`));
  }
}

/** AWS SDKs print `code` and `message`. */
const refusal = (code: string, message: string) => ({ code, message });

function send(response: ServerResponse, status: number, body: object): void {
  response
    .writeHead(status, { "content-type": "application/json", "cache-control": "no-store" })
    .end(JSON.stringify(body));
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
