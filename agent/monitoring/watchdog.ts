/**
 * systemd's readiness and watchdog (`sd_notify(3)`): a timer reports liveness, so systemd restarts
 * an agent whose event loop is blocked, but not one whose control plane is away.
 */
import type { Logger } from "pino";
import { ticking } from "../../common/every.ts";
import { systemdNotifier } from "../../common/notify-systemd.ts";
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

export function openWatchdog({ socket, periodSeconds, contact, log }: WatchdogOptions): Watchdog {
  const notify = systemdNotifier(socket, log);
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
