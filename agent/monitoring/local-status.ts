/**
 * Serves the agent's status on its own machine, without names and secrets: `/healthz` shows that
 * the event loop works, `/readyz` that the control plane responds, and `/metrics` is for
 * Prometheus. A supervisor must restart the agent by `/healthz` alone.
 */
import { createServer, type Server } from "node:http";
import { once } from "node:events";
import { Counter, Gauge, Registry, collectDefaultMetrics } from "@prometheus-io/client";
import type { Contact } from "../api/contact.ts";
import { freeBytes } from "../machine/disk-space.ts";
import type { JobResult } from "../job/run-job.ts";
import { version } from "../../common/version.ts";

export interface LocalStatusOptions {
  readonly host: string;
  readonly port: number;
  readonly contact: Contact;
  /** After a longer silence of the control plane, the agent is not ready. */
  readonly silenceSeconds: number;
  readonly isolation: string;
  readonly slots: number;
  readonly workDir: string;
  running(): number;
  /** Whether the agent takes no jobs because of too little disk space. */
  isDiskLow(): boolean;
}

export interface LocalStatus {
  /** The address on which it listens, such as `http://127.0.0.1:9185`. */
  readonly url: string;
  ended(type: string, result: JobResult): void;
  close(): Promise<void>;
}

/** Starts the server. Throws if the address is in use. */
export async function openLocalStatus(options: LocalStatusOptions): Promise<LocalStatus> {
  const { contact } = options;
  const { registry, ended } = metricsOf(options);
  const server = createServer((request, response) => {
    const answer = (status: number, type: string, text: string): void => {
      response.writeHead(status, { "content-type": type }).end(text);
    };
    if (request.method !== "GET") return answer(405, "text/plain", "GET only\n");
    const json = (status: number, body: object): void =>
      answer(status, "application/json", `${JSON.stringify(body)}\n`);
    const { url } = request;
    if (url === "/healthz") return json(200, { status: "ok" });
    if (url === "/readyz") {
      const silence = Math.round(contact.silence());
      const isReady = silence < options.silenceSeconds;
      return json(isReady ? 200 : 503, {
        status: isReady ? "ready" : "no_contact",
        seconds_since_contact: silence,
      });
    }
    if (url !== "/metrics") return answer(404, "text/plain", "/healthz, /readyz or /metrics\n");
    registry.metrics().then(
      (text) => answer(200, registry.contentType, text),
      (error: Error) => answer(500, "text/plain", `${error.message}\n`),
    );
  });
  server.headersTimeout = 5000;
  server.requestTimeout = 5000;
  server.listen(options.port, options.host);
  await once(server, "listening");
  return {
    url: addressOf(server),
    ended,
    close: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function addressOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no address");
  const host = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return `http://${host}:${address.port}`;
}

function metricsOf(options: LocalStatusOptions): {
  registry: Registry;
  ended: LocalStatus["ended"];
} {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const gauge = (name: string, help: string, read: () => number | Promise<number>): void => {
    const collect = async function (this: Gauge): Promise<void> {
      this.set(await read());
    };
    registry.registerMetric(new Gauge({ name, help, registers: [], collect }));
  };
  new Gauge({
    name: "windlass_agent_info",
    help: "Version and isolation of this agent; always 1.",
    labelNames: ["version", "isolation"],
    registers,
  }).set({ version: version(), isolation: options.isolation }, 1);
  gauge("windlass_agent_slots", "Jobs that may run at the same time.", () => options.slots);
  gauge(
    "windlass_agent_jobs_running",
    "Jobs that this agent has claimed and that have not ended.",
    options.running,
  );
  gauge("windlass_agent_contact_age_seconds", "Time since the control plane last responded.", () =>
    options.contact.silence(),
  );
  gauge("windlass_agent_disk_free_bytes", "Free bytes on the disk of the work directory.", () =>
    freeBytes(options.workDir),
  );
  gauge(
    "windlass_agent_disk_low",
    "1 while the agent takes no jobs because too little disk space is free.",
    () => (options.isDiskLow() ? 1 : 0),
  );
  const jobs = new Counter({
    name: "windlass_agent_jobs_total",
    help: "Jobs that ended here, by type and result.",
    labelNames: ["type", "result"],
    registers,
  });
  return {
    registry,
    ended: (type, result) => jobs.inc({ type: type.toLowerCase(), result: result.toLowerCase() }),
  };
}
