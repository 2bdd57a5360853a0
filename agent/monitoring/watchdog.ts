/**
 * systemd's readiness and watchdog (`sd_notify(3)`). The watchdog checks liveness: a timer of the
 * event loop sends keep-alive messages. So systemd restarts an agent whose loop is blocked, but not
 * one whose control plane is away.
 */
import { execFile } from "node:child_process";
import type { Logger } from "pino";
import { ticking } from "../../common/every.ts";
import { second } from "../../common/units.ts";
import type { Contact } from "../api/contact.ts";

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

/** Does nothing without a `NOTIFY_SOCKET`. */
export function openWatchdog({ socket, periodSeconds, contact, log }: WatchdogOptions): Watchdog {
  if (socket === undefined) return { ready: () => undefined, stop: () => undefined };
  const notify = (...facts: string[]): void => {
    // Node has no Unix datagrams, so systemd's own program sends the messages.
    const env = { NOTIFY_SOCKET: socket, PATH: "/usr/bin:/bin" };
    execFile("systemd-notify", ["--no-block", ...facts], { env }, (error) => {
      if (error) log.warn({ error: error.message }, "systemd could not be notified");
    });
  };
  let end: (() => void) | undefined;
  if (periodSeconds !== undefined) {
    const pause = periodSeconds / 4;
    end = ticking(pause * second, () => {
      const silence = contact.silence();
      const status =
        silence < pause * 2
          ? "in contact with the control plane"
          : `no response from the control plane for ${Math.round(silence)} s`;
      notify("WATCHDOG=1", `STATUS=${status}`);
    });
  }
  return {
    ready: () => notify("READY=1"),
    stop: () => {
      end?.();
      notify("STOPPING=1");
    },
  };
}
