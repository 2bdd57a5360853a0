/** Lets the machine monitor its agent: systemd's watchdog, `/healthz`, `/readyz` and `/metrics`. */
import type { Logger } from "pino";
import type { AgentConfig } from "../config.ts";
import type { Contact } from "../api/contact.ts";
import type { JobResult } from "../job/run-job.ts";
import { openLocalStatus } from "./local-status.ts";
import { openWatchdog } from "./watchdog.ts";

export interface Monitoring extends Disposable {
  ended(type: string, result: JobResult): void;
}

export interface Monitored {
  readonly contact: Contact;
  readonly isolation: string;
  running(): number;
  isDiskLow(): boolean;
}

/** Missed heartbeats until the agent is not ready, and the server shows it as OFFLINE. */
const silentHeartbeats = 2;

export function openMonitoring(
  config: AgentConfig,
  log: Logger,
  { contact, isolation, running, isDiskLow }: Monitored,
): Monitoring {
  const { socket, watchdogSeconds: periodSeconds } = config.systemd;
  const watchdog = openWatchdog({ socket, periodSeconds, contact, log });
  const status = openLocalStatus({
    address: config.statusAddress,
    contact,
    isolation,
    running,
    isDiskLow,
    log,
    silenceSeconds: Math.max(1, config.heartbeatSeconds * silentHeartbeats),
    slots: config.concurrency,
    workDir: config.workDir,
  });
  watchdog.ready();
  return {
    ended: (type, result) => status.ended(type, result),
    [Symbol.dispose]: () => {
      watchdog.stop();
      status.close();
    },
  };
}
