/** The server's log: JSON lines on stderr, or pretty on a terminal. */
import { pino, type Logger } from "pino";
import type { ServerConfig } from "./config.ts";
import { mebibyte } from "../common/units.ts";

/** So much may wait while the log cannot be written; more is dropped. */
const waitingBytes = mebibyte;

/** Written synchronously, so that the last line before an exit is there. */
export function openLog({
  logLevel,
  logFormat,
}: Pick<ServerConfig, "logLevel" | "logFormat">): Logger {
  const options = { level: logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  if (logFormat === "json") {
    const destination = pino.destination({ dest: 2, sync: true, maxLength: waitingBytes });
    // A log on a full disk must not end the server: the lines wait for space.
    destination.on("error", () => undefined);
    return pino(options, destination);
  }
  return pino({
    ...options,
    transport: {
      target: "pino-pretty",
      options: { destination: 2, translateTime: "yyyy-mm-dd HH:MM:ss.l o", sync: true },
    },
  });
}
