/**
 * Lets the machine monitor its agent: systemd's watchdog, and `/healthz`, `/readyz` and `/metrics`
 * if they are enabled.
 */
import type { Logger } from "pino";
import type { AgentConfig } from "../config.ts";
import type { Contact } from "../api/contact.ts";
import type { JobResult } from "../job/run-job.ts";
import { openWatchdog } from "./watchdog.ts";

export interface Monitoring extends AsyncDisposable {
  /** A job has ended. */
  ended(type: string, result: JobResult): void;
}

export interface Monitored {
  readonly contact: Contact;
  readonly isolation: string;
  running(): number;
  isDiskLow(): boolean;
}

/**
 * Silence of the control plane, in heartbeats, after which the agent is not ready. After the same
 * time the server shows the worker as OFFLINE.
 */
const silentHeartbeats = 2;

/** Starts what the settings enable. Throws if the address is in use. */
export async function openMonitoring(
  config: AgentConfig,
  log: Logger,
  { contact, isolation, running, isDiskLow }: Monitored,
): Promise<Monitoring> {
  const { socket, watchdogSeconds: periodSeconds } = config.systemd;
  const watchdog = openWatchdog({ socket, periodSeconds, contact, log });
  // Loaded only if it is used: most agents on a laptop or in a pipeline serve nothing.
  const status = config.statusAddress
    ? await (
        await import("./local-status.ts")
      ).openLocalStatus({
        ...config.statusAddress,
        contact,
        isolation,
        running,
        isDiskLow,
        silenceSeconds: Math.max(1, config.heartbeatSeconds * silentHeartbeats),
        slots: config.concurrency,
        workDir: config.workDir,
      })
    : undefined;
  if (status) log.info({ url: status.url }, "serving /healthz, /readyz and /metrics");
  watchdog.ready();
  return {
    ended: (type, result) => status?.ended(type, result),
    [Symbol.asyncDispose]: async () => {
      watchdog.stop();
      await status?.close();
    },
  };
}
