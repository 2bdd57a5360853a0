/** What this machine monitors its agent by: systemd's watchdog, and `/healthz`, `/readyz` and `/metrics` where they are enabled. */
import type { Logger } from "pino";
import type { AgentConfig } from "../config.ts";
import type { Contact } from "../api/contact.ts";
import type { JobResult } from "../job/run-job.ts";
import { openWatchdog } from "./watchdog.ts";

export interface Monitoring extends AsyncDisposable {
  /** A job has ended here. */
  ended(type: string, result: JobResult): void;
}

export interface Monitored {
  readonly contact: Contact;
  readonly isolation: string;
  running(): number;
  isDiskLow(): boolean;
}

/** Silence of the control plane, in heartbeats, after which the agent is not ready: the server calls it OFFLINE after two as well. */
const silentHeartbeats = 2;

/** Starts what the settings ask for. Throws when the address for it is taken. */
export async function openMonitoring(
  config: AgentConfig,
  log: Logger,
  { contact, isolation, running, isDiskLow }: Monitored,
): Promise<Monitoring> {
  const { socket, watchdogSeconds: periodSeconds } = config.systemd;
  const watchdog = openWatchdog({ socket, periodSeconds, contact, log });
  // Loaded where it is used: most agents of a laptop or a pipeline serve nothing.
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
