/** The agent's metrics for Prometheus. */
import { Counter, Gauge, Registry, collectDefaultMetrics } from "@prometheus-io/client";
import { version } from "../../common/version.ts";
import type { Contact } from "../api/contact.ts";
import { freeBytes } from "../machine/disk-space.ts";

export interface AgentMetrics {
  readonly contentType: string;
  read(): Promise<string>;
}

interface Measured {
  readonly contact: Contact;
  readonly isolation: string;
  readonly slots: number;
  readonly workDir: string;
  running(): number;
  isDiskLow(): boolean;
}

interface EndedJobs {
  readonly type: string;
  readonly result: string;
  readonly count: number;
}

export function agentMetrics(
  options: Measured,
  endedJobs: () => Iterable<EndedJobs>,
): AgentMetrics {
  const registry = new Registry();
  const registers = [registry];
  // The default, 10 ms, takes 1 % of a core.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
  const gauge = (name: string, help: string, read: () => number): void => {
    const collect = function (this: Gauge): void {
      this.set(read());
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
    registers: [],
    collect() {
      this.reset();
      for (const { type, result, count } of endedJobs())
        this.inc({ type: type.toLowerCase(), result: result.toLowerCase() }, count);
    },
  });
  registry.registerMetric(jobs);
  return { contentType: registry.contentType, read: () => registry.metrics() };
}
