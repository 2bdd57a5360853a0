/** The log of a server and of an agent: JSON lines on stderr, or pretty on a terminal. */
import { pino, type LevelWithSilent, type Logger } from "pino";
import { mebibyte } from "./units.ts";

export interface LogSettings {
  readonly logLevel: LevelWithSilent;
  readonly logFormat: "pretty" | "json";
}

/** So much may wait while the log cannot be written; more is dropped. */
const waitingBytes = mebibyte;

/** Written synchronously, so that the last line before an exit is there. */
export function openLog({ logLevel, logFormat }: LogSettings): Logger {
  const options = { level: logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  if (logFormat === "json") {
    const destination = pino.destination({ dest: 2, sync: true, maxLength: waitingBytes });
    // A log on a full disk must not end the process: the lines wait for space.
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
