/** The server's log: JSON lines on stderr, or pretty on a terminal. */
import { pino, type Logger } from "pino";
import type { ServerConfig } from "./config.ts";

/** Written synchronously, so that the last line before an exit is there. */
export function openLog({
  logLevel,
  logFormat,
}: Pick<ServerConfig, "logLevel" | "logFormat">): Logger {
  const options = { level: logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  if (logFormat === "json") return pino(options, pino.destination({ dest: 2, sync: true }));
  return pino({
    ...options,
    transport: {
      target: "pino-pretty",
      options: { destination: 2, translateTime: "yyyy-mm-dd HH:MM:ss.l o", sync: true },
    },
  });
}
