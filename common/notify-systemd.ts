/** Messages of a service to systemd (`sd_notify(3)`). */
import { execFile } from "node:child_process";
import type { Logger } from "pino";

export type NotifySystemd = (...facts: string[]) => void;

/** Returns what sends messages to this `NOTIFY_SOCKET`; without one it does nothing. */
export function systemdNotifier(
  socket: string | undefined,
  log: Pick<Logger, "warn">,
): NotifySystemd {
  if (socket === undefined) return () => undefined;
  // Node has no Unix datagrams, so systemd's own program sends them. It stays until systemd has read
  // them, because systemd finds the service by the control group of the sender.
  const env = { NOTIFY_SOCKET: socket, PATH: "/usr/bin:/bin" };
  return (...facts) =>
    void execFile("systemd-notify", facts, { env }, (error) => {
      if (error) log.warn({ error: error.message }, "systemd could not be notified");
    });
}
