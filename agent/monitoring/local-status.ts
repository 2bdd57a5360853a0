/**
 * The agent's status on its own machine, without names and secrets: `/healthz` of the event loop,
 * by which alone a supervisor restarts it, `/readyz` of the control plane, and `/metrics`. Ask at
 * the socket: a job can use up an address, or take it while no agent runs.
 */
import { chmodSync, rmSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import type { ListenOptions } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { Contact } from "../api/contact.ts";
import type { Address } from "../config.ts";
import type { JobResult } from "../job/run-job.ts";
import { second } from "../../common/units.ts";
import type { AgentMetrics } from "./metrics.ts";

export interface LocalStatusOptions {
  /** Served in addition to the socket. */
  readonly address: Address | undefined;
  readonly contact: Contact;
  /** After a longer silence of the control plane, the agent is not ready. */
  readonly silenceSeconds: number;
  readonly isolation: string;
  readonly slots: number;
  readonly workDir: string;
  readonly log: Logger;
  running(): number;
  /** Whether the agent takes no jobs because of too little disk space. */
  isDiskLow(): boolean;
}

export interface LocalStatus {
  ended(type: string, result: JobResult): void;
  close(): void;
}

/** The Unix socket, which only the agent's user may open. */
export const statusSocket = (workDir: string): string => join(workDir, "status.sock");

/** For each of the two servers. More connections are closed at once. */
const mostConnections = 32;
/** Milliseconds that a connection may take, or be silent. */
const patience = 5 * second;
/** The pause before an address that is in use is tried again, in milliseconds. */
const retryEvery = 5 * second;

/** Starts to serve. What cannot be opened is logged and tried again, because jobs can prevent it. */
export function openLocalStatus(options: LocalStatusOptions): LocalStatus {
  const { address, workDir, log } = options;
  const ended = new Map<string, { type: string; result: string; count: number }>();
  let metrics: Promise<AgentMetrics> | undefined;
  const respond = responder(options, () => {
    // Loaded only if it is read: most agents on a laptop or in a pipeline are not monitored.
    metrics ??= import("./metrics.ts").then(({ agentMetrics }) =>
      agentMetrics(options, () => ended.values()),
    );
    return metrics;
  });
  const over = new AbortController();
  const serve = { respond, log, over: over.signal };
  const path = statusSocket(workDir);
  // The work directory is locked, so an existing socket is one of a killed agent.
  void keepServing({
    ...serve,
    where: { path },
    before: () => rmSync(path, { force: true }),
    // Other users may pass through the work directory, because jobs run in it.
    after: () => chmodSync(path, 0o600),
  });
  if (address) void keepServing({ ...serve, where: address });
  return {
    ended(type, result) {
      const key = `${type} ${result}`;
      const one = ended.get(key) ?? { type, result, count: 0 };
      one.count++;
      ended.set(key, one);
    },
    close: () => over.abort(),
  };
}

interface Serving {
  readonly respond: RequestListener;
  readonly where: ListenOptions;
  readonly log: Logger;
  readonly over: AbortSignal;
  before?(): void;
  after?(): void;
}

async function keepServing({ respond, where, log, over, before, after }: Serving): Promise<void> {
  for (let tries = 1; !over.aborted; tries++) {
    const server = createServer(
      {
        headersTimeout: patience,
        requestTimeout: patience,
        connectionsCheckingInterval: second,
      },
      respond,
    );
    // A client that does not read its response is silent too.
    server.timeout = patience;
    server.maxConnections = mostConnections;
    try {
      before?.();
      await listen(server, where);
      after?.();
    } catch (error) {
      server.close();
      const facts = { ...where, error: (error as Error).message };
      if (tries === 1) log.warn(facts, "the agent's status cannot be served here, trying again");
      await sleep(retryEvery, undefined, { signal: over }).catch(() => undefined);
      continue;
    }
    // Such as too many open files.
    server.on("error", (error) => log.warn({ error: error.message }, "serving the agent's status"));
    const close = (): void => {
      server.close();
      server.closeAllConnections();
    };
    if (over.aborted) return close();
    over.addEventListener("abort", close, { once: true });
    log.info({ url: urlOf(server) }, "serving /healthz, /readyz and /metrics");
    return;
  }
}

function listen(server: Server, where: ListenOptions): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen(where, () => {
    server.off("error", reject);
    resolve();
  });
  return promise;
}

function responder(
  options: LocalStatusOptions,
  metrics: () => Promise<AgentMetrics>,
): RequestListener {
  return ({ method, url }, response) => {
    const answer = (status: number, type: string, text: string): void => {
      response.writeHead(status, { "content-type": type, connection: "close" }).end(text);
    };
    if (method !== "GET") return answer(405, "text/plain", "GET only\n");
    const json = (status: number, body: object): void =>
      answer(status, "application/json", `${JSON.stringify(body)}\n`);
    if (url === "/healthz") return json(200, { status: "ok" });
    if (url === "/readyz") {
      const silence = Math.round(options.contact.silence());
      const isReady = silence < options.silenceSeconds;
      return json(isReady ? 200 : 503, {
        status: isReady ? "ready" : "no_contact",
        seconds_since_contact: silence,
      });
    }
    if (url !== "/metrics") return answer(404, "text/plain", "/healthz, /readyz or /metrics\n");
    metrics()
      .then(async ({ contentType, read }) => answer(200, contentType, await read()))
      .catch((error: Error) => answer(500, "text/plain", `${error.message}\n`));
  };
}

function urlOf(server: Server): string {
  const address = server.address();
  if (typeof address === "string") return `unix:${address}`;
  const { family, address: host, port } = address ?? { family: "", address: "", port: 0 };
  return `http://${family === "IPv6" ? `[${host}]` : host}:${port}`;
}
