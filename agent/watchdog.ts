/**
 * systemd's readiness and watchdog (`sd_notify(3)`). It is fed by real contact with the control plane and by nothing else: an agent
 * whose loops hang, or whose connections are wedged, looks alive to every timer. Being started anew costs it nothing: a running
 * terraform goes on and is taken up (`KillMode=process`).
 */
import { execFile } from "node:child_process";
import type { Logger } from "pino";
import type { Contact } from "./contact.ts";

export interface Watchdog {
  /** Tells systemd that the agent is ready. */
  ready(): void;
  stop(): void;
}

export interface WatchdogOptions {
  /** `NOTIFY_SOCKET` and `WATCHDOG_USEC` as systemd sets them. */
  readonly socket: string | undefined;
  readonly periodSeconds: number | undefined;
  readonly contact: Contact;
  readonly log: Logger;
}

/** Without a `NOTIFY_SOCKET`, does nothing. */
export function openWatchdog({ socket, periodSeconds, contact, log }: WatchdogOptions): Watchdog {
  if (socket === undefined) return { ready: () => undefined, stop: () => undefined };
  const notify = (...facts: string[]): void => {
    // Node has no Unix datagrams; systemd's own program sends them.
    const env = { NOTIFY_SOCKET: socket, PATH: "/usr/bin:/bin" };
    execFile("systemd-notify", ["--no-block", ...facts], { env }, (error) => {
      if (error) log.warn({ error: error.message }, "systemd could not be notified");
    });
  };
  let timer: NodeJS.Timeout | undefined;
  if (periodSeconds !== undefined) {
    const pause = periodSeconds / 4;
    timer = setInterval(() => {
      const silence = contact.silence();
      if (silence < pause * 2) notify("WATCHDOG=1", `STATUS=in contact with the control plane`);
      else notify(`STATUS=no answer from the control plane for ${Math.round(silence)} s`);
    }, pause * 1000);
  }
  return {
    ready: () => notify("READY=1"),
    stop: () => {
      clearInterval(timer);
      notify("STOPPING=1");
    },
  };
}
