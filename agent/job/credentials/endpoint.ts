/**
 * Where a job's terraform asks for its credentials: a loopback address of its own, as AWS SDKs know it from containers. Terraform holds
 * address and token in its environment for as long as it runs, so an agent that adopts it opens the same ones again.
 */
import { createHash, randomInt, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { RoleSession } from "./role-session.ts";

const path = "/credentials";
const host = "127.0.0.1";
/** Below the ports that Linux gives to outgoing connections: none of those takes it while a killed agent is away. */
const ports = { from: 20_000, to: 32_000 };
const portTries = 100;
/** With more, the oldest one that asks nothing is closed. */
const mostConnections = 100;
/** How soon a taken port is tried again, in milliseconds. */
const retryEvery = 500;

/** What terraform is told, and what the next agent must know. */
export interface EndpointAddress {
  readonly port: number;
  readonly token: string;
}

/** The variables by which AWS SDKs find the endpoint. The token opens nothing but it, on this machine, while the job runs. */
export const endpointEnvironment = ({ port, token }: EndpointAddress): Record<string, string> => ({
  AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://${host}:${port}${path}`,
  AWS_CONTAINER_AUTHORIZATION_TOKEN: token,
});

/** Opens an endpoint on a free port, and answers which. It is closed when `over` is aborted. */
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

/** Opens the endpoint of a terraform that runs. While another process holds the port, opening it is retried, because terraform knows no other. */
export async function reopenEndpoint(
  session: RoleSession,
  address: EndpointAddress,
  over: AbortSignal,
  onTrouble: (text: string) => void,
): Promise<void> {
  const where = `${host}:${address.port}, where terraform asks for credentials,`;
  for (let tries = 1; !over.aborted; tries++) {
    try {
      await listen(session, address, over);
      if (tries > 1) onTrouble(`${where} is free again; terraform gets credentials`);
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
  // Any process of the machine can connect. One that opens connections and asks nothing must not keep terraform from asking.
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
  if (request.url !== path) return send(response, 404, refusal("NotFound", "there is only one"));
  if (request.method !== "GET")
    return send(response, 405, refusal("MethodNotAllowed", "credentials are read with GET"));
  try {
    const { accessKeyId, secretAccessKey, sessionToken } = await session.current();
    send(response, 200, {
      AccessKeyId: accessKeyId,
      SecretAccessKey: secretAccessKey,
      Token: sessionToken,
      // By this machine's clock, which terraform will look at.
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
